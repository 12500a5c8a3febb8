// The few entries of gcc's OpenMP runtime that the loops call, made of POSIX threads.
//
// gcc's own runtime is not instrumented: ThreadSanitizer sees neither its barriers nor how its
// threads begin and end, and would report every loop. This file stands in for it in the build of
// `SANITIZER=thread scripts/sanitize.sh` alone, linked into the extension, so that torch keeps the
// real one. It is compiled without instrumentation: the sanitizer knows pthread_create, _join and
// _barrier_wait, and must not take the counters of dynamic loops below for synchronisation, which
// would hide races between two chunks.
//
// ELASTICGNN_HIDE_BARRIERS=1 makes threads wait for each other in a way that the sanitizer cannot
// see: it must then report the loops, or it looks at nothing.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kSlots = 64;  // dynamic loops that threads may be apart
const bool barriers_hidden = std::getenv("ELASTICGNN_HIDE_BARRIERS") != nullptr;

// A dynamic loop: what is left of it, and how many threads are done. Used again by every 64th.
struct Slot {
  std::atomic<long> next{0}, ended{0}, round{0};
};

struct Team {
  int size = 1;
  pthread_barrier_t barrier;
  std::atomic<long> arrived{0};
  Slot slots[kSlots];

  void meet() {
    if (!barriers_hidden) {
      pthread_barrier_wait(&barrier);
      return;
    }
    const long place = arrived.fetch_add(1), everyone = (place / size + 1) * size;
    while (arrived.load() < everyone) sched_yield();  // there may be fewer cores than threads
  }
};

struct Member {
  Team* team = nullptr;
  int number = 0, level = 0;
  long loops = 0;  // dynamic loops begun, the current one included
  long start = 0, end = 0, step = 1, chunk = 1;
};

thread_local Member me;

Slot& slot() { return me.team->slots[(me.loops - 1) % kSlots]; }

bool next_chunk(long* first, long* last) {
  const long count = (me.end - me.start + me.step - (me.step > 0 ? 1 : -1)) / me.step;
  const long taken = slot().next.fetch_add(me.chunk);
  if (taken >= count) return false;
  *first = me.start + taken * me.step;
  *last = me.start + (taken + me.chunk < count ? taken + me.chunk : count) * me.step;
  return true;
}

void leave_loop() {
  Slot& here = slot();
  if (here.ended.fetch_add(1) + 1 < me.team->size) return;
  here.next = 0;
  here.ended = 0;
  ++here.round;
}

struct Start {
  void (*work)(void*);
  void* data;
  Member member;
};

void* run(void* given) {
  const Start& start = *static_cast<Start*>(given);
  const Member before = me;
  me = start.member;
  start.work(start.data);
  me = before;
  return nullptr;
}

}  // namespace

extern "C" {

int omp_get_thread_num() { return me.number; }
int omp_get_num_threads() { return me.team ? me.team->size : 1; }
int omp_get_level() { return me.level; }

void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned) {
  Team team;
  team.size = threads < 1 ? 1 : int(threads);
  pthread_barrier_init(&team.barrier, nullptr, unsigned(team.size));
  std::vector<Start> starts;
  for (int number = 0; number < team.size; ++number)
    starts.push_back({work, data, Member{&team, number, me.level + 1}});
  std::vector<pthread_t> others(team.size - 1);
  for (int number = 1; number < team.size; ++number)
    pthread_create(&others[number - 1], nullptr, run, &starts[number]);
  run(&starts[0]);
  for (pthread_t other : others) pthread_join(other, nullptr);
  pthread_barrier_destroy(&team.barrier);
}

void GOMP_barrier() {
  if (me.team && me.team->size > 1) me.team->meet();
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* first, long* last) {
  return next_chunk(first, last);
}

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long* first,
                                          long* last) {
  static thread_local Team alone;  // a loop outside of any team
  if (!me.team) me.team = &alone;
  ++me.loops;
  me.start = start, me.end = end, me.step = step, me.chunk = chunk;
  while (slot().round != (me.loops - 1) / kSlots) sched_yield();
  return next_chunk(first, last);
}

// Chunks are handed out in their order either way: that is what `monotonic` asks for.
bool GOMP_loop_dynamic_next(long* first, long* last) { return next_chunk(first, last); }

bool GOMP_loop_dynamic_start(long start, long end, long step, long chunk, long* first, long* last) {
  return GOMP_loop_nonmonotonic_dynamic_start(start, end, step, chunk, first, last);
}

void GOMP_loop_end_nowait() { leave_loop(); }

void GOMP_loop_end() {
  leave_loop();
  GOMP_barrier();
}
}
