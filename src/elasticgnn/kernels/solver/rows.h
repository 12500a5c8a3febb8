// What the solver's loops share. Included inside a namespace of its instruction set.
constexpr std::int64_t CHUNK = 4096;  // rows per partial sum: same bits on any thread count

template <int D>
inline int width(int channels) {
  return D > 0 ? D : channels;
}
