/*
 * What works here, found out by doing it in a child process and looking whether it holds. A kernel can know a feature
 * and a container's own filter, or a boot option, can still forbid it.
 */
#ifndef TOOLKEEPER_PROBE_H
#define TOOLKEEPER_PROBE_H

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#include "landlock.h"
#include "paths.h"
#include "rules.h"

/* Runs `attempt` in a child of its own. It answers 1 when what it set up really holds. */
static int holds(int (*attempt)(void)) {
  pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    /* Whatever hangs or kills the child is a no. */
    alarm(5);
    _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && attempt() ? 0 : 1);
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int opens(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* A ruleset that grants /proc alone: that still opens, the root does not. */
static int landlock_restricts_paths(void) {
  int abi = landlock_abi();
  if (abi < 1 || !opens("/")) return 0;
  int ruleset = landlock_open(abi, 1, 0);
  const char *granted = opens("/proc/self") ? "/proc" : NULL;
  if (ruleset < 0 || (granted && landlock_grant(ruleset, abi, open_granted(granted), GRANT_RO) != 0)) return 0;
  if (landlock_apply(ruleset) != 0) return 0;
  return !opens("/") && errno == EACCES && (!granted || opens(granted));
}

static int landlock_scopes_signals(void) {
  if (landlock_abi() < 6 || kill(getppid(), 0) != 0) return 0;
  int ruleset = landlock_open(landlock_abi(), 0, 0);
  if (ruleset < 0 || landlock_apply(ruleset) != 0) return 0;
  return kill(getppid(), 0) == -1 && errno == EPERM && kill(getpid(), 0) == 0;
}

static int filter_denies_sockets(void) {
  struct filter filter;
  begin_filter(&filter);
  rules_no_net(&filter);
  rules_dangerous(&filter);
  allow_all_else(&filter);
  if (install_filter(&filter) != 0) return 0;
  int pair[2];
  return socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
}

/* A grandchild asks to die with the child; the pipe closes when it does, else it says after a while that it lives. */
static int dies_with_parent(void) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  pid_t middle = fork();
  if (middle < 0) return 0;
  if (middle == 0) {
    pid_t last = fork();
    if (last < 0) _exit(1);
    if (last == 0) {
      char asked = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 ? 'y' : 'n';
      if (write(ends[1], &asked, 1) != 1) _exit(1);
      poll(NULL, 0, 1000);
      _exit(write(ends[1], "lives", 5) == 5 ? 0 : 1);
    }
    close(ends[1]);
    char asked;
    _exit(read(ends[0], &asked, 1) == 1 && asked == 'y' ? 0 : 1);
  }
  close(ends[1]);
  int status;
  if (waitpid(middle, &status, 0) != middle || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 0;
  char byte;
  return read(ends[0], &byte, 1) == 0;
}

/* One line of JSON. `landlockAbi` is what the kernel offers (0: none); the others say what was seen to work. */
static void print_probe(void) {
  const char *words[] = {"false", "true"};
  printf("{\"landlockAbi\":%d,\"landlock\":%s,\"signalScope\":%s,\"seccomp\":%s,\"pdeathsig\":%s,\"uid\":%u}\n",
         landlock_abi(), words[holds(landlock_restricts_paths)], words[holds(landlock_scopes_signals)],
         words[holds(filter_denies_sockets)], words[holds(dies_with_parent)], (unsigned)getuid());
}

#endif
