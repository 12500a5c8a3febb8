// Rows of two float channels, eight (AVX-512) or four (AVX2) edges at a time: the two floats of a
// node are gathered as one double, which keeps the rows' own layout. Included inside a namespace
// of its instruction set; `PAIR_EDGES` is 0 where there is no such set.
#if defined(__AVX512F__)

constexpr std::int64_t PAIR_EDGES = 8;

struct Pairs {
  using V = __m512;
  static V load(const float* a) { return _mm512_loadu_ps(a); }
  static void store(float* a, V v) { _mm512_storeu_ps(a, v); }
  static V all(float x) { return _mm512_set1_ps(x); }
  static V gather(const float* rows, const std::int32_t* node) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(node));
    return _mm512_castpd_ps(_mm512_i32gather_pd(at, reinterpret_cast<const double*>(rows), 8));
  }
  // one number per edge, given to both of its channels
  static V twice(const float* a) {
    const __m512i at = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return _mm512_permutexvar_ps(at, _mm512_castps256_ps512(_mm256_loadu_ps(a)));
  }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V div(V a, V b) { return _mm512_div_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V length(V v) {
    const V square = _mm512_mul_ps(v, v);
    return _mm512_sqrt_ps(_mm512_add_ps(square, _mm512_permute_ps(square, 0xB1)));
  }
  static V where_greater(V a, V b, V yes, V no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), no, yes);
  }
  static float sum(V v) { return _mm512_reduce_add_ps(v); }
};

#elif defined(__AVX2__) && defined(__FMA__)

constexpr std::int64_t PAIR_EDGES = 4;

struct Pairs {
  using V = __m256;
  static V load(const float* a) { return _mm256_loadu_ps(a); }
  static void store(float* a, V v) { _mm256_storeu_ps(a, v); }
  static V all(float x) { return _mm256_set1_ps(x); }
  static V gather(const float* rows, const std::int32_t* node) {
    const __m128i at = _mm_loadu_si128(reinterpret_cast<const __m128i*>(node));
    return _mm256_castpd_ps(_mm256_i32gather_pd(reinterpret_cast<const double*>(rows), at, 8));
  }
  static V twice(const float* a) {
    const __m256i at = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), at);
  }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V div(V a, V b) { return _mm256_div_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V length(V v) {
    const V square = _mm256_mul_ps(v, v);
    return _mm256_sqrt_ps(_mm256_add_ps(square, _mm256_permute_ps(square, 0xB1)));
  }
  static V where_greater(V a, V b, V yes, V no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
  }
  static float sum(V v) {
    alignas(32) float lane[8];
    _mm256_store_ps(lane, v);
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
};

#else

constexpr std::int64_t PAIR_EDGES = 0;

#endif

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

// dual_row<float, 2, false> for all edges of a chunk but a rest of fewer than PAIR_EDGES; moves
// `begin` to that rest and returns what the rows return, summed.
template <bool Shared>
float dual_pairs(const Ascent<float>& p, std::int64_t& begin, std::int64_t end, float momentum) {
  using V = Pairs::V;
  const V pace = Pairs::all(momentum), one = Pairs::all(1.0f);
  V step = Pairs::all(*p.step), radius = Pairs::all(*p.radius), mix = Pairs::all(*p.mix);
  const V least = Pairs::all(std::numeric_limits<float>::min());
  V turn = Pairs::all(0.0f);
  for (; begin + PAIR_EDGES <= end; begin += PAIR_EDGES) {
    if (!Shared) {
      step = Pairs::twice(p.step + begin);
      radius = Pairs::twice(p.radius + begin);
      mix = Pairs::twice(p.mix + begin);
    }
    const V delta = Pairs::sub(Pairs::gather(p.signal, p.mesh.tail + begin),
                               Pairs::gather(p.signal, p.mesh.head + begin));
    const V ahead = Pairs::load(p.ahead + 2 * begin);
    V v = Pairs::fma(step, delta, ahead);
    const V r = Pairs::length(v);
    const V kept = Pairs::fma(mix, Pairs::sub(r, radius), radius);
    v = Pairs::mul(v, Pairs::where_greater(r, radius, Pairs::div(kept, r), one));
    const V change = Pairs::sub(v, Pairs::load(p.flow + 2 * begin));
    V part = Pairs::mul(Pairs::sub(ahead, v), change);
    // an edge of no weight has step 0 and does not move
    if (!Shared) part = Pairs::where_greater(step, least, Pairs::div(part, step), Pairs::all(0.0f));
    turn = Pairs::add(turn, part);
    Pairs::store(p.flow + 2 * begin, v);
    Pairs::store(p.ahead + 2 * begin, Pairs::fma(pace, change, v));
  }
  const float total = Pairs::sum(turn);
  return Shared && *p.step > 0 ? total / *p.step : total;
}

#endif
