// One step of the interior point method, apart from the factorisation (interior_point/mehrotra.py).
// solver/interior_plain.py states the same in numpy. One thread.
#include <algorithm>
#include <cmath>

#include "solver/channels.h"
#include "solver/interior.h"

namespace elasticgnn::ISA_NAMESPACE {
namespace {

constexpr double FARTHEST = 1e30;  // a step without a limit

template <int D>
inline double dot(const double* a, const double* b) {
  double sum = 0;
  for (int k = 0; k < D; ++k) sum += a[k] * b[k];
  return sum;
}

// out <- row i of the matrix times rows
template <int D>
inline void product(const Sparse& matrix, std::int64_t i, const double* rows, double* out) {
  double sum[D] = {};
  for (std::int32_t p = matrix.start[i]; p < matrix.start[i + 1]; ++p) {
    const double* row = rows + std::int64_t(matrix.column[p]) * D;
    for (int k = 0; k < D; ++k) sum[k] += matrix.value[p] * row[k];
  }
  for (int k = 0; k < D; ++k) out[k] = sum[k];
}

// G rows, without the quadratic part
template <int D>
inline void curve(const double* w1, double theta, const double* rows, double* out) {
  const double along = 2 / (1 + 2 * dot<D>(w1, w1)) * dot<D>(w1, rows), inverse = 1 / theta / theta;
  for (int k = 0; k < D; ++k) out[k] = (rows[k] - along * w1[k]) * inverse;
}

// change <- K' shift - residual
template <int D>
void right_side(const Interior& p) {
  for (std::int64_t i = 0; i < p.adjoint.rows; ++i) {
    double sum[D];
    product<D>(p.adjoint, i, p.shift, sum);
    for (int k = 0; k < D; ++k) p.change[i * D + k] = sum[k] - p.residual[i * D + k];
  }
}

// The scaling at the present point, G, and the right side of the affine direction: there
// W q = -(tau, u).
template <int D>
void scale(const Interior& p, double mu) {
  constexpr int half = D * (D + 1) / 2;
  const double* const __restrict us = p.difference, * const __restrict vs = p.flow;
  const double* const __restrict radii = p.radius, * const __restrict quadratic = p.quadratic;
  double* const __restrict w1s = p.w1, * const __restrict lam1s = p.lam1;
  double* const __restrict taus = p.tau, * const __restrict thetas = p.theta;
  double* const __restrict w0s = p.w0, * const __restrict lam0s = p.lam0;
  double* const __restrict blocks = p.blocks, * const __restrict shifts = p.shift;
#pragma omp simd
  for (std::int64_t r = 0; r < p.operators.rows; ++r) {
    const double radius = radii[r];
    double u[D], v[D], w1[D];
    for (int k = 0; k < D; ++k) u[k] = us[r * D + k], v[k] = vs[r * D + k];
    const double tau = (mu + std::sqrt(mu * mu + radius * radius * dot<D>(u, u))) / radius;
    const double length = std::sqrt(dot<D>(v, v));
    const double root_s = std::sqrt(2 * mu * tau / radius);
    const double root_z = std::sqrt((radius - length) * (radius + length));
    const double inner = tau * radius - dot<D>(u, v);
    const double middle = 2 * std::sqrt((1 + inner / (root_s * root_z)) / 2);
    const double of_u = 1 / (root_s * middle), of_v = 1 / (root_z * middle);
    for (int k = 0; k < D; ++k) w1[k] = u[k] * of_u + v[k] * of_v;
    const double size = dot<D>(w1, w1), w0 = std::sqrt(1 + size), square = root_s / root_z;
    const double theta = std::sqrt(square), along = -dot<D>(w1, v);
    const double shrink = 2 / (1 + 2 * size), inverse = 1 / square, back = shrink * dot<D>(w1, u);
    for (int a = 0; a < D; ++a) {
      w1s[r * D + a] = w1[a];
      lam1s[r * D + a] = theta * (-v[a] + (radius + along / (1 + w0)) * w1[a]);
      shifts[r * D + a] = (back * w1[a] - u[a]) * inverse;
      for (int b = 0; b <= a; ++b)
        blocks[r * half + a * (a + 1) / 2 + b] =
            ((a == b) - shrink * w1[a] * w1[b]) * inverse + (a == b) * quadratic[r];
    }
    taus[r] = tau, thetas[r] = theta, w0s[r] = w0, lam0s[r] = theta * (w0 * radius + along);
  }
  for (std::int64_t r = 0; r < p.operators.rows; ++r) p.first[r] = -p.tau[r];
  right_side<D>(p);
}

// The largest a with |v + a dv| <= radius.
template <int D>
inline double longest(double radius, const double* v, const double* dv) {
  const double square = dot<D>(dv, dv), cross = dot<D>(v, dv), length = std::sqrt(dot<D>(v, v));
  const double room = (radius - length) * (radius + length);
  const double root = std::sqrt(std::max(cross * cross + square * room, 0.0));
  // two forms of the root of square a^2 + 2 cross a = room: the one without cancellation
  if (cross >= 0) return cross + root > 0 ? room / (cross + root) : FARTHEST;
  return square > 0 ? (root - cross) / square : FARTHEST;
}

// dv of the signal's change; returns how far flows can follow it.
template <int D>
double follow(const Interior& p) {
  double reach = FARTHEST;
  for (std::int64_t r = 0; r < p.operators.rows; ++r) {
    double *du = p.du + r * D, *dv = p.dv + r * D;
    product<D>(p.operators, r, p.change, du);
    curve<D>(p.w1 + r * D, p.theta[r], du, dv);
    for (int k = 0; k < D; ++k) dv[k] -= p.shift[r * D + k];
    reach = std::min(reach, longest<D>(p.radius[r], p.flow + r * D, dv));
  }
  return reach;
}

// The right side of Mehrotra's corrector after the affine direction (du, dv):
// q = -lam + lam \ (target e - (W^-1 ds) o (W dz)), of which W takes -lam to -(tau, u).
template <int D>
void correct(const Interior& p, double target) {
  const double* const __restrict w1s = p.w1, * const __restrict lam1s = p.lam1;
  const double* const __restrict dus = p.du, * const __restrict dvs = p.dv;
  const double* const __restrict us = p.difference, * const __restrict taus = p.tau;
  const double* const __restrict thetas = p.theta, * const __restrict w0s = p.w0;
  const double* const __restrict lam0s = p.lam0;
  double* const __restrict firsts = p.first, * const __restrict shifts = p.shift;
#pragma omp simd
  for (std::int64_t r = 0; r < p.operators.rows; ++r) {
    const double theta = thetas[r], w0 = w0s[r], lam0 = lam0s[r], inverse = 1 / theta;
    double w1[D], lam1[D], du[D], dv[D], a1[D], b1[D], v1[D], u1[D], rest[D];
    for (int k = 0; k < D; ++k) {
      w1[k] = w1s[r * D + k], lam1[k] = lam1s[r * D + k];
      du[k] = dus[r * D + k], dv[k] = dvs[r * D + k];
    }
    const double inner = dot<D>(w1, du), outer = -dot<D>(w1, dv);
    const double slack = firsts[r] - 2 * theta * theta * w0 * outer;
    const double a0 = (w0 * slack - inner) * inverse, b0 = theta * outer;
    const double of_a = inner / (1 + w0) - slack, of_b = outer / (1 + w0);
    for (int k = 0; k < D; ++k) {
      a1[k] = (du[k] + of_a * w1[k]) * inverse;
      b1[k] = theta * (of_b * w1[k] - dv[k]);
      v1[k] = -(a0 * b1[k] + b0 * a1[k]);
    }
    const double v0 = target - a0 * b0 - dot<D>(a1, b1), length = std::sqrt(dot<D>(lam1, lam1));
    const double u0 = (lam0 * v0 - dot<D>(lam1, v1)) / ((lam0 - length) * (lam0 + length));
    for (int k = 0; k < D; ++k) u1[k] = (v1[k] - u0 * lam1[k]) / lam0;
    const double across = dot<D>(w1, u1), along = u0 + across / (1 + w0);
    for (int k = 0; k < D; ++k) rest[k] = theta * (u1[k] + along * w1[k]) - us[r * D + k];
    const double back = 2 / (1 + 2 * dot<D>(w1, w1)) * dot<D>(w1, rest);
    for (int k = 0; k < D; ++k) shifts[r * D + k] = (rest[k] - back * w1[k]) * inverse * inverse;
    firsts[r] = theta * (w0 * u0 + across) - taus[r];
  }
  right_side<D>(p);
}

// Moves by `step` along the direction, and says where that leads.
template <int D>
Optimality optimality(const Interior& p, double step) {
  const std::int64_t nodes = p.adjoint.rows, rows = p.operators.rows;
  Optimality out{0, 0, 0, 0};
  if (step > 0)
    for (std::int64_t i = 0; i < nodes * D; ++i) p.signal[i] += step * p.change[i];
  for (std::int64_t r = 0; r < rows; ++r) {
    double *u = p.difference + r * D, *v = p.flow + r * D;
    if (step > 0)
      for (int k = 0; k < D; ++k) v[k] += step * p.dv[r * D + k];
    product<D>(p.operators, r, p.signal, u);
    const double square = dot<D>(u, u), value = p.radius[r] * std::sqrt(square);
    out.rows += value - dot<D>(u, v);
    out.objective += value + p.quadratic[r] * square / 2;
    for (int k = 0; k < D; ++k) p.shift[r * D + k] = v[k] + p.quadratic[r] * u[k];
  }
  for (std::int64_t i = 0; i < nodes; ++i) {
    double sum[D];
    product<D>(p.adjoint, i, p.shift, sum);
    for (int k = 0; k < D; ++k) {
      const double weight = p.weight[i * D + k], off = p.signal[i * D + k] - p.x[i * D + k];
      const double residual = weight * off + sum[k];
      p.residual[i * D + k] = residual;
      out.objective += weight * off * off / 2;
      if (weight > 0) out.nodes += residual * residual / weight / 2;
      else out.missing_residual += std::abs(residual);
    }
  }
  return out;
}

// room += factor G of one row, at the block of nodes i (rows) and j (columns) of a band
template <int D>
inline void add_block(double* room, int width, std::int64_t i, std::int64_t j, double factor,
                      const double* block) {
  for (int b = 0; b < D; ++b) {
    double* const column = room + (j * D + b) * width + i * D;
    for (int a = i == j ? b : 0; a < D; ++a)
      column[a] += factor * (a >= b ? block[a * (a + 1) / 2 + b] : block[b * (b + 1) / 2 + a]);
  }
}

template <int D>
void assemble_band(const Interior& p, const Assembly& to) {
  const auto at = [&](std::int64_t node) {
    return to.position ? std::int64_t(to.position[node]) : node;
  };
  const Sparse& rows = p.operators;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const double* block = p.blocks + r * (D * (D + 1) / 2);
    for (std::int32_t e = rows.start[r]; e < rows.start[r + 1]; ++e)
      for (std::int32_t f = rows.start[r]; f < rows.start[r + 1]; ++f) {
        const std::int64_t i = at(rows.column[e]), j = at(rows.column[f]);
        if (i >= j) add_block<D>(to.room, to.width, i, j, rows.value[e] * rows.value[f], block);
      }
  }
  for (std::int64_t i = 0; i < p.adjoint.rows; ++i)
    for (int k = 0; k < D; ++k) to.room[(at(i) * D + k) * (to.width + 1)] += p.weight[i * D + k];
}

template <int D>
void assemble_pattern(const Interior& p, const Assembly& to) {
  constexpr int half = D * (D + 1) / 2;
  for (std::int64_t e = 0; e < to.sums.rows; ++e) {
    double sum[half];
    product<half>(to.sums, e, p.blocks, sum);
    const std::int64_t* place = to.place + e * (D * D);
    for (int a = 0, at = 0; a < D; ++a)
      for (int b = 0; b <= a; ++b, ++at) {
        if (place[a * D + b] >= 0) to.room[place[a * D + b]] = sum[at];
        if (a != b && place[b * D + a] >= 0) to.room[place[b * D + a]] = sum[at];
      }
  }
  for (std::int64_t i = 0; i < p.adjoint.rows; ++i) {
    const std::int64_t* place = to.place + std::int64_t(to.diagonal[i]) * (D * D);
    for (int k = 0; k < D; ++k) to.room[place[k * D + k]] += p.weight[i * D + k];
  }
}

// room <- C + K' (G + lambda2 omega) K
template <int D>
void assemble(const Interior& p, const Assembly& to) {
  std::fill(to.room, to.room + to.size, 0.0);
  if (to.width >= 0) assemble_band<D>(p, to);
  else assemble_pattern<D>(p, to);
}

}  // namespace

void interior_scale(const Interior& p, const Assembly& to, double mu) {
  with_channels(p.channels, [&](auto d) {
    scale<d>(p, mu);
    assemble<d>(p, to);
  });
}

void interior_assemble(const Interior& p, const Assembly& to) {
  with_channels(p.channels, [&](auto d) { assemble<d>(p, to); });
}

double interior_follow(const Interior& p) {
  return with_channels(p.channels, [&](auto d) { return follow<d>(p); });
}

void interior_correct(const Interior& p, double target) {
  with_channels(p.channels, [&](auto d) { correct<d>(p, target); });
}

Optimality interior_optimality(const Interior& p, double step) {
  return with_channels(p.channels, [&](auto d) { return optimality<d>(p, step); });
}

}  // namespace elasticgnn::ISA_NAMESPACE
