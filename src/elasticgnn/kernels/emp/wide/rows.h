// Rows of N vectors, or of any number (N = 0), padded with zeros to whole vectors.
#pragma once

#include <utility>

#include "emp/general/rows.h"
#include "emp/wide/problem.h"
#include "threads/steps.h"

namespace elasticgnn::ISA_NAMESPACE {

namespace {

// The vectors of a row: an array in registers, or memory when their number is open.
template <class Vec, int N>
struct RowVectors {
  Vec data[N];
  explicit RowVectors(Vec*) {}
  ELASTICGNN_INLINE Vec& operator[](int v) { return data[v]; }
};
template <class Vec>
struct RowVectors<Vec, 0> {
  Vec* data;
  explicit RowVectors(Vec* memory) : data(memory) {}
  ELASTICGNN_INLINE Vec& operator[](int v) { return data[v]; }
};

template <class T, int L, int N, Shape S_>
struct WideRow {
  using Number = T;
  using R = Rows<T, L, N, false>;
  using P = Pack<T, L>;
  using Vec = typename P::Vec;
  using Vectors = RowVectors<Vec, N>;
  static constexpr Shape S = S_;
  // Whether a row is one vector with a fast projection: emp/wide/one_vector.h.
  static constexpr bool kIsOneVector = S == Shape::ball && P::kFastRoot && L >= 8 && N == 1;

  int open_count, tail;  // vectors, and the lanes in use of the last one
  std::int64_t width;    // of the caller's rows

  explicit WideRow(std::int64_t width_)
      : open_count(int((width_ + L - 1) / L)),
        tail(int(width_ - std::int64_t(open_count - 1) * L)),
        width(width_) {}
  ELASTICGNN_INLINE int count() const { return N ? N : open_count; }
  // body(v) for every vector of a row. Their number is unrolled here and not by the compiler, which
  // does it too late to keep an array of them in registers.
  template <class Body>
  ELASTICGNN_INLINE void each(const Body& body) const {
    if constexpr (N > 0) unrolled(body, std::make_integer_sequence<int, N>{});
    else
      for (int v = 0; v < open_count; ++v) body(v);
  }
  ELASTICGNN_INLINE std::int64_t stride() const { return std::int64_t(count()) * L; }
  R padded() const { return R(1, stride()); }
  std::int64_t bytes() const { return stride() * std::int64_t(sizeof(T)); }
  std::int64_t ahead_edges() const { return (bytes() > 64 ? 1 : 2) * tuning.ahead_edges; }
  // Whether so many rows are stored past the caches: long ones that share no line, which would be
  // written twice.
  bool streams(std::int64_t rows) const {
    return tuning.stores_past_caches && bytes() % 64 == 0 && bytes() >= 256 &&
           rows * bytes() > tuning.shared_cache_bytes;
  }
  // Whether a sweep over nodes prefetches its streams too, the tables of slots and the rows of the
  // next nodes: rows of one line have no time for it, and the hardware follows long ones.
  bool prefetches_nodes() const {
    return bytes() > kBytesAboveForNodes && bytes() < tuning.bytes_below_for_nodes;
  }
  // Of the caller's rows, which are not padded.
  ELASTICGNN_INLINE Vec load_given(const T* row, int v) const {
    return v + 1 < count() ? P::load(row + v * L) : P::load(row + v * L, tail);
  }
  ELASTICGNN_INLINE void store_given(T* row, int v, Vec value) const {
    if (v + 1 < count()) P::store(row + v * L, value);
    else P::store(row + v * L, value, tail);
  }
  ELASTICGNN_INLINE static Vec load(const T* row, int v) { return P::load(row + v * L); }
  ELASTICGNN_INLINE static void store(T* row, int v, Vec value) { P::store(row + v * L, value); }
  ELASTICGNN_INLINE static void stream(T* row, int v, Vec value) { P::stream(row + v * L, value); }

  template <class Body, int... V>
  ELASTICGNN_INLINE static void unrolled(const Body& body, std::integer_sequence<int, V...>) {
    (body(V), ...);
  }

  static ELASTICGNN_INLINE void prefetch(const T* row, std::int64_t numbers) {
    constexpr std::int64_t kLine = 64 / sizeof(T), kMost = 16 * kLine;
    for (std::int64_t c = 0; c < numbers && c < kMost; c += kLine) __builtin_prefetch(row + c);
  }

  // sum[0 .. C - 1] = sum over the slots first .. last - 1 of w times the vectors v, v + 1, ... of
  // the rows they lead to
  template <int C>
  ELASTICGNN_INLINE void gather(const Tables<T>& g, const T* table, int v, std::int64_t first,
                                std::int64_t last, bool far, Vec* sum) const {
    const std::int64_t stride = this->stride();
    const T* const from = table + v * L;
    const std::int64_t ahead = C * L * std::int64_t(sizeof(T)) > 64 ? 12 : 24,
                       last_slot = g.last_slot;
    const std::int32_t* const column = g.column;
    const T* const weight = g.slot_weight;
    const bool streams_ahead = far && prefetches_nodes();
    constexpr int kChains = C == 1 ? 2 : 1;  // a single sum would wait for itself
    Vec total[C * kChains] = {};
    // body(c) for each of the vectors, unrolled here as in `each`
    const auto each_vector = [](const auto& body) ELASTICGNN_INLINE_LAMBDA {
      unrolled(body, std::make_integer_sequence<int, C>{});
    };
    const auto row_at = [&](std::int64_t p) ELASTICGNN_INLINE_LAMBDA {
      if (far)
        prefetch(from + column[p + ahead < last_slot ? p + ahead : last_slot] * stride, C * L);
      if (streams_ahead) {
        __builtin_prefetch(column + p + kSlotsAhead);
        if (weight) __builtin_prefetch(weight + p + kSlotsAhead);
      }
      return from + column[p] * stride;
    };
    std::int64_t p = first;
    if (weight) {
      if constexpr (kChains == 2)
        for (; p + 2 <= last; p += 2) {
          const T *const even = row_at(p), *const odd = row_at(p + 1);
          total[0] += weight[p] * load(even, 0), total[1] += weight[p + 1] * load(odd, 0);
        }
      for (; p < last; ++p) {
        const T* const other = row_at(p);
        const Vec w = P::splat(weight[p]);
        each_vector([&](int c) ELASTICGNN_INLINE_LAMBDA { total[c] += w * load(other, c); });
      }
    } else {
      if constexpr (kChains == 2)
        for (; p + 2 <= last; p += 2) {
          const T *const even = row_at(p), *const odd = row_at(p + 1);
          total[0] += load(even, 0), total[1] += load(odd, 0);
        }
      for (; p < last; ++p) {
        const T* const other = row_at(p);
        each_vector([&](int c) ELASTICGNN_INLINE_LAMBDA { total[c] += load(other, c); });
      }
    }
    if constexpr (kChains == 2) total[0] += total[1];
    each_vector([&](int c) ELASTICGNN_INLINE_LAMBDA { sum[c] = total[c]; });
  }

  // finish(v, sum) for all vectors, a few at a time, of the sum over the slots first .. last - 1
  template <class Finish>
  ELASTICGNN_INLINE void gather_slots(const Tables<T>& g, const T* table, std::int64_t first,
                                      std::int64_t last, bool far, const Finish& finish) const {
    if constexpr (N > 0) {
      Vec sum[N];
      gather<N>(g, table, 0, first, last, far, sum);
      each([&](int v) ELASTICGNN_INLINE_LAMBDA { finish(v, sum[v]); });
    } else {
      Vec sum[8];
      int v = 0;
      for (; v + 8 <= open_count; v += 8) {
        gather<8>(g, table, v, first, last, far, sum);
        for (int c = 0; c < 8; ++c) finish(v + c, sum[c]);
      }
      for (; v + 2 <= open_count; v += 2) {
        gather<2>(g, table, v, first, last, far, sum);
        finish(v, sum[0]), finish(v + 1, sum[1]);
      }
      if (v < open_count) {
        gather<1>(g, table, v, first, last, far, sum);
        finish(v, sum[0]);
      }
    }
  }
};

// Calls body(WideRow) with the fewest lanes that fill it; fixed numbers of vectors exist where they
// pay: float32, l21.
template <class T, int L, Shape S, int N, class Body>
std::size_t with_count(std::int64_t width, const Body& body) {
  if constexpr (N == 0) return body(WideRow<T, L, 0, S>(width));
  else if constexpr (N > 8 && N % 4) return with_count<T, L, S, N - 1>(width, body);
  else if ((width + L - 1) / L == N) return body(WideRow<T, L, N, S>(width));
  else return with_count<T, L, S, N - 1>(width, body);
}

template <class T, Shape S, class Body>
std::size_t with_wide_row(std::int64_t width, const Body& body) {
  constexpr int L = kVectorBytes / int(sizeof(T));
  if constexpr (S != Shape::ball || sizeof(T) != 4) return body(WideRow<T, L, 0, S>(width));
  else if constexpr (L == 16) {
    if ((width + 7) / 8 % 2 && width < 64)
      return with_count<T, 8, S, 7>(width, body);  // half a vector would be padding
    return with_count<T, L, S, 8>(width, body);
  } else {
    return with_count<T, L, S, 16>(width, body);
  }
}

}  // namespace

}  // namespace elasticgnn::ISA_NAMESPACE
