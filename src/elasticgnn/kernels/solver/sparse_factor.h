// A sparse Cholesky factor with its memory, apart from the numbers, which Python holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/cholesky.h"
#include "solver/elimination.h"
#include "solver/fill.h"

namespace elasticgnn {

class SparseFactor {
 public:
  // Of the lower triangle of a matrix of blocks d x d at these rows and columns of nodes.
  // std::length_error where it would hold more than `most` numbers.
  SparseFactor(std::int32_t nodes, int channels, std::int64_t entries, const std::int32_t* row,
               const std::int32_t* column, double most)
      : channels(channels) {
    const Adjacency graph = adjacency(nodes, entries, row, column);
    shape = Eliminator(graph, most / (double(channels) * channels)).run();
    find_room();
    Fill(most).add(double(room) + double(tallest_stack));
    moved.resize(std::size_t(nodes) * channels);
  }

  std::int64_t size() const { return room; }
  double work() const { return products; }

  // Where number (a, b) of each block stands among the values; -1 above the diagonal.
  void places(std::int64_t entries, const std::int32_t* row, const std::int32_t* column,
              std::int64_t* out) const {
    std::vector<std::int32_t> owner(shape.position.size());
    for (std::int32_t s = 0; s < shape.count(); ++s)
      std::fill(owner.begin() + shape.first[s], owner.begin() + shape.first[s + 1], s);
    const int d = channels;
    for (std::int64_t e = 0; e < entries; ++e) {
      std::int32_t i = shape.position[row[e]], j = shape.position[column[e]];
      const bool transposed = i < j;
      if (transposed) std::swap(i, j);
      const std::int32_t s = owner[j];
      const std::int64_t height = (shape.width(s) + shape.below(s)) * d;
      const std::int64_t below = place_in_front(s, i) * d, across = (j - shape.first[s]) * d;
      for (int a = 0; a < d; ++a)
        for (int b = 0; b < d; ++b) {
          const int low = transposed ? b : a, left = transposed ? a : b;
          const bool is_stored = i != j || a >= b;
          out[(e * d + a) * d + b] =
              is_stored ? panel[s] + (across + left) * height + below + low : -1;
        }
    }
  }

  // The factor as its loops take it.
  Cholesky view(double* values) {
    stack.resize(std::size_t(tallest_stack));
    packed.resize(std::size_t(tallest_front + PACKED_ROWS) * PACKED_COLUMNS);
    part.resize(std::size_t(tallest_front));
    waiting.resize(std::size_t(shape.count()));
    place.resize(std::size_t(shape.count()));
    return {channels,
            shape.count(),
            shape.first.data(),
            shape.row_start.data(),
            shape.rows.data(),
            shape.relative.data(),
            shape.children.data(),
            panel.data(),
            values,
            stack.data(),
            waiting.data(),
            place.data(),
            packed.data()};
  }

  // The right side in the order of elimination, and back.
  double* moved_in(const double* right) {
    for (std::size_t i = 0; i < shape.position.size(); ++i)
      for (int k = 0; k < channels; ++k)
        moved[std::size_t(shape.position[i]) * channels + k] = right[i * channels + k];
    return moved.data();
  }
  void moved_out(double* right) const {
    for (std::size_t i = 0; i < shape.position.size(); ++i)
      for (int k = 0; k < channels; ++k)
        right[i * channels + k] = moved[std::size_t(shape.position[i]) * channels + k];
  }
  double* rows_of_a_front() { return part.data(); }

 private:
  std::int64_t place_in_front(std::int32_t s, std::int32_t k) const {
    if (k < shape.first[s + 1]) return k - shape.first[s];
    const auto from = shape.rows.begin() + shape.row_start[s];
    const auto to = shape.rows.begin() + shape.row_start[s + 1];
    return shape.width(s) + (std::lower_bound(from, to, k) - from);
  }

  void find_room() {
    std::vector<std::int64_t> tops;
    std::int64_t top = 0;
    for (std::int32_t s = 0; s < shape.count(); ++s) {
      const std::int64_t columns = shape.width(s) * channels, below = shape.below(s) * channels;
      const std::int64_t height = columns + below;
      panel.push_back(room);
      room += columns * height;
      products += double(columns) * double(height) * double(height);
      tallest_front = std::max(tallest_front, height);
      tallest_stack = std::max(tallest_stack, top + below * below);
      for (std::int32_t k = 0; k < shape.children[s]; ++k) top = tops.back(), tops.pop_back();
      if (!below) continue;
      tops.push_back(top);
      top += below * below;
    }
  }

  int channels;
  Elimination shape;
  std::vector<std::int64_t> panel, place;
  std::vector<std::int32_t> waiting;
  std::int64_t room = 0, tallest_front = 0, tallest_stack = 0;
  double products = 0;
  std::vector<double> stack, packed, part, moved;
};

}  // namespace elasticgnn
