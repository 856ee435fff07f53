/* Processes for cases. A child writes its verdict and reason into a pipe and ends; what it does not write, the way it
 * ended tells. */
#include "cli/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MAX = 64, JOBS_TEXT = 4000 };

typedef struct jobs_slot {
  pid_t pid; /* 0: free */
  int fd;
  size_t index;
  int64_t deadline_ns;
  size_t len;
  char text[JOBS_TEXT + 1]; /* verdict digit, then the reason */
} jobs_slot;

static void jobs_child(tn_case *c, const tn_case_options *o, int fd) {
  tn_case_run(c, o);
  const char *const text = tn_cli_print("%d%.*s", (int)c->verdict, JOBS_TEXT - 1, c->why ? c->why : "");
  const size_t len = strlen(text);
  const bool ok = write(fd, text, len) == (ssize_t)len; /* less than a pipe holds */
  tn_cli_drop();
  exit(ok ? 0 : 1);
}

static bool jobs_start(jobs_slot *s, tn_cases *cases, size_t index, const tn_jobs_options *o) {
  int fds[2];
  if (pipe(fds) != 0) return false;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid < 0) {
    close(fds[0]);
    close(fds[1]);
    return false;
  }
  if (pid == 0) {
    close(fds[0]);
    jobs_child(&cases->items[index], o->cases, fds[1]);
  }
  close(fds[1]);
  *s = (jobs_slot){.pid = pid, .fd = fds[0], .index = index};
  s->deadline_ns = tn_clock_ns() + (int64_t)(o->timeout_s * 1e9);
  return true;
}

static void jobs_finish(jobs_slot *s, tn_cases *cases, double timeout_s, bool is_late) {
  int status = 0;
  tn_case *const c = &cases->items[s->index];
  if (is_late) kill(s->pid, SIGKILL);
  while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR) continue;
  close(s->fd);
  s->pid = 0;
  s->text[s->len] = 0;
  const int verdict = s->text[0] - '0';
  c->verdict = TN_VERDICT_FAIL;
  if (is_late) {
    c->why = tn_cli_print("did not end within %g s", timeout_s);
  } else if (WIFSIGNALED(status)) {
    c->why = tn_cli_print("crash: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0 || verdict < 0 || verdict >= TN_N_VERDICTS) {
    c->why = tn_cli_print("crash: the process ended with status %d", WEXITSTATUS(status));
  } else {
    c->verdict = (tn_verdict)verdict;
    c->why = verdict == TN_VERDICT_PASS ? NULL : tn_cli_print("%s", s->text + 1);
  }
}

/* Reads what there is; true when the child has closed its end. */
static bool jobs_read(jobs_slot *s) {
  char rest[256];
  const bool is_full = s->len == JOBS_TEXT;
  const ssize_t got = read(s->fd, is_full ? rest : s->text + s->len, is_full ? sizeof rest : JOBS_TEXT - s->len);
  if (got > 0 && !is_full) s->len += (size_t)got;
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

/* Waits until some child has written or ended or is late. Marks ended ones in `ended`. */
static void jobs_wait(jobs_slot *slots, size_t n, tn_cases *cases, double timeout_s, bool *ended) {
  struct pollfd polls[JOBS_MAX];
  size_t of[JOBS_MAX];
  nfds_t n_polls = 0;
  int64_t next = INT64_MAX;
  for (size_t i = 0; i < n; i++) {
    if (!slots[i].pid) continue;
    of[n_polls] = i;
    polls[n_polls++] = (struct pollfd){.fd = slots[i].fd, .events = POLLIN};
    if (slots[i].deadline_ns < next) next = slots[i].deadline_ns;
  }
  const int64_t left_ms = (next - tn_clock_ns()) / 1000000 + 1;
  (void)poll(polls, n_polls, left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : (int)left_ms);
  for (nfds_t k = 0; k < n_polls; k++) {
    jobs_slot *const s = &slots[of[k]];
    const bool is_closed = polls[k].revents && jobs_read(s), is_late = !is_closed && tn_clock_ns() > s->deadline_ns;
    if (!is_closed && !is_late) continue;
    jobs_finish(s, cases, timeout_s, is_late);
    ended[s->index] = true;
  }
}

static void jobs_run_here(tn_cases *cases, const tn_jobs_options *o) {
  for (size_t i = 0; i < cases->n; i++) {
    tn_case_run(&cases->items[i], o->cases);
    o->done(o->arg, i);
  }
}

void tn_jobs_run(tn_cases *cases, const tn_jobs_options *o) {
  const size_t n_slots = o->jobs < JOBS_MAX ? (size_t)o->jobs : JOBS_MAX;
  if (n_slots == 0) {
    jobs_run_here(cases, o);
    return;
  }
  jobs_slot *const slots = tn_cli_alloc(n_slots, sizeof *slots);
  bool *const ended = tn_cli_alloc(cases->n, sizeof *ended);
  for (size_t next = 0, reported = 0; reported < cases->n;) {
    size_t n_running = 0;
    for (size_t i = 0; i < n_slots; i++) {
      if (!slots[i].pid && next < cases->n && jobs_start(&slots[i], cases, next, o)) next++;
      n_running += slots[i].pid != 0;
    }
    if (n_running == 0) { /* no process can be had */
      cases->items[next].verdict = TN_VERDICT_FAIL;
      cases->items[next].why = tn_cli_print("cannot start a process: %s", strerror(errno));
      ended[next++] = true;
    } else {
      jobs_wait(slots, n_slots, cases, o->timeout_s, ended);
    }
    while (reported < cases->n && ended[reported]) o->done(o->arg, reported++);
  }
}
