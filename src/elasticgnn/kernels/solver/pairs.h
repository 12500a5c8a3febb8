// Rows of two float channels, eight (AVX-512) or four (AVX2) edges at a time: the two floats of a
// node are gathered as one double, which keeps the rows' own layout. Included inside a namespace
// of its instruction set, behind simd/vec.h.
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#define ELASTICGNN_PAIRS 1

constexpr int PAIR_EDGES = kVectorBytes / 8;
using Pairs = Pack<float, 2 * PAIR_EDGES>;
using PairVec = Pairs::Vec;

ELASTICGNN_INLINE PairVec gather_pairs(const float* rows, const std::int32_t* node) {
  const auto* pairs = reinterpret_cast<const double*>(rows);
#if defined(__AVX512F__)
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(node));
  return (PairVec)_mm512_i32gather_pd(at, pairs, 8);
#else
  const __m128i at = _mm_loadu_si128(reinterpret_cast<const __m128i*>(node));
  return (PairVec)_mm256_i32gather_pd(pairs, at, 8);
#endif
}

// One number per edge, given to both of its channels.
ELASTICGNN_INLINE PairVec twice(const float* a) {
  const auto once = Pack<float, PAIR_EDGES>::load(a);
#if defined(__AVX512F__)
  return __builtin_shufflevector(once, once, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
#else
  return __builtin_shufflevector(once, once, 0, 0, 1, 1, 2, 2, 3, 3);
#endif
}

// The length of each pair, in both of its lanes.
ELASTICGNN_INLINE PairVec pair_length(PairVec v) {
  const PairVec square = v * v;
#if defined(__AVX512F__)
  const __m512 other = _mm512_permute_ps((__m512)square, 0xB1);
  return (PairVec)_mm512_sqrt_ps((__m512)square + other);
#else
  const __m256 other = _mm256_permute_ps((__m256)square, 0xB1);
  return (PairVec)_mm256_sqrt_ps((__m256)square + other);
#endif
}

// dual_row<float, 2, false> for all edges of a chunk but a rest of fewer than PAIR_EDGES; moves
// `begin` to that rest and returns what the rows return, summed.
template <bool Shared>
float dual_pairs(const Ascent<float>& p, std::int64_t& begin, std::int64_t end, float momentum) {
  const PairVec one = Pairs::splat(1.0f), zero{};
  const PairVec least = Pairs::splat(std::numeric_limits<float>::min());
  PairVec step = Pairs::splat(*p.step), radius = Pairs::splat(*p.radius);
  PairVec mix = Pairs::splat(*p.mix), uphill = zero;
  for (; begin + PAIR_EDGES <= end; begin += PAIR_EDGES) {
    if (!Shared) {
      step = twice(p.step + begin);
      radius = twice(p.radius + begin);
      mix = twice(p.mix + begin);
    }
    const PairVec delta =
        gather_pairs(p.signal, p.mesh.tail + begin) - gather_pairs(p.signal, p.mesh.head + begin);
    const PairVec ahead = Pairs::load(p.ahead + 2 * begin);
    PairVec v = ahead + step * delta;
    const PairVec r = pair_length(v);
    const PairVec kept = radius + mix * (r - radius);
    v *= r > radius ? kept / r : one;
    const PairVec change = v - Pairs::load(p.flow + 2 * begin);
    PairVec part = (ahead - v) * change;
    // an edge of no weight has step 0 and does not move
    if (!Shared) part = step > least ? part / step : zero;
    uphill += part;
    Pairs::store(p.flow + 2 * begin, v);
    Pairs::store(p.ahead + 2 * begin, v + momentum * change);
  }
  const float total = Pairs::sum(uphill);
  return Shared && *p.step > 0 ? total / *p.step : total;
}

#endif
