// How many numbers a factor may hold: a search for its order ends where it is sure to hold more.
#pragma once

#include <stdexcept>

namespace elasticgnn {

class Fill {
 public:
  explicit Fill(double most) : most(most) {}

  // `coming` numbers are sure to follow these
  void add(double numbers, double coming = 0) {
    known += numbers;
    if (known + coming > most) throw std::length_error("the factor holds too many numbers");
  }

 private:
  double most, known = 0;
};

}  // namespace elasticgnn
