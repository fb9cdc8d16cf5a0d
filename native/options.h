/*
 * The launcher's command line (README.md in this directory has the options), and how it stops when it cannot go on.
 */
#ifndef TOOLKEEPER_OPTIONS_H
#define TOOLKEEPER_OPTIONS_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "landlock.h"
#include "seccomp.h"

enum { EXIT_NOT_SET_UP = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

struct grant {
  const char *path;
  uint64_t rights;
};

struct limit {
  const char *name;
  int resource;
  int given;
  rlim_t value;
};

struct options {
  struct grant *grants; /* room for one per argument */
  size_t grant_count;
  const char **holds; /* room for one per argument */
  size_t hold_count;
  size_t held; /* the first so many grants must be what the inherited descriptors hold, in their order */
  int newest_abi; /* use no later landlock than this */
  int no_new_privs, no_net, no_unix, no_detach, no_chmod, dangerous, drop_caps, pdeathsig, probe;
  pid_t parent; /* who must be the parent, 0 when nobody said */
  int switch_user;
  uid_t uid;
  gid_t gid;
  char **command;
};

static struct limit limits[] = {
    {"data", RLIMIT_DATA, 0, 0},     {"nproc", RLIMIT_NPROC, 0, 0}, {"fsize", RLIMIT_FSIZE, 0, 0},
    {"nofile", RLIMIT_NOFILE, 0, 0}, {"cpu", RLIMIT_CPU, 0, 0},
    {"core", RLIMIT_CORE, 1, 0}, /* a dump would hold the tool's secrets: 0 unless another is given */
};

__attribute__((noreturn, format(printf, 2, 3))) static void stop(int code, const char *format, ...) {
  char line[PATH_MAX + 256];
  va_list rest;
  va_start(rest, format);
  vsnprintf(line, sizeof line, format, rest);
  va_end(rest);
  dprintf(STDERR_FILENO, "toolkeeper-launcher: %s\n", line);
  _exit(code);
}

#define FAIL(...) stop(EXIT_NOT_SET_UP, __VA_ARGS__)

static rlim_t number_of(const char *text, const char *what) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0) {
    FAIL("%s is not a whole number of 0 or more: '%s'", what, text);
  }
  return (rlim_t)value;
}

/* NAME=VALUE; of two for one name the later counts. */
static void set_limit(const char *text) {
  const char *equals = strchr(text, '=');
  for (size_t n = 0; equals && n < COUNT(limits); n++) {
    struct limit *limit = &limits[n];
    if (strlen(limit->name) != (size_t)(equals - text) || strncmp(limit->name, text, strlen(limit->name)) != 0) continue;
    limit->given = 1;
    limit->value = number_of(equals + 1, "the value of --rlimit");
    return;
  }
  FAIL("--rlimit takes data, nproc, fsize, nofile, cpu or core, '=' and a number, not '%s'", text);
}

/* UID:GID, neither of them root's. */
static void set_user(struct options *o, char *text) {
  const char *what = "a part of --user";
  char *colon = strchr(text, ':');
  if (colon == NULL) FAIL("--user takes UID:GID, not '%s'", text);
  rlim_t gid = number_of(colon + 1, what);
  *colon = '\0';
  rlim_t uid = number_of(text, what);
  if (uid == 0 || gid == 0 || uid >= UINT_MAX || gid >= UINT_MAX) FAIL("--user takes neither 0 nor %u", UINT_MAX);
  o->switch_user = 1;
  o->uid = (uid_t)uid;
  o->gid = (gid_t)gid;
}

/* Options that stand alone. */
static int take_switch(struct options *o, const char *name) {
  const struct {
    const char *name;
    int *place;
  } switches[] = {
      {"--no-new-privs", &o->no_new_privs}, {"--no-net", &o->no_net},       {"--no-unix", &o->no_unix},
      {"--no-detach", &o->no_detach},       {"--no-chmod", &o->no_chmod},   {"--seccomp", &o->dangerous},
      {"--drop-caps", &o->drop_caps},       {"--pdeathsig", &o->pdeathsig}, {"--probe", &o->probe},
  };
  for (size_t n = 0; n < COUNT(switches); n++) {
    if (strcmp(name, switches[n].name) != 0) continue;
    *switches[n].place = 1;
    return 1;
  }
  return 0;
}

/* Options with a value. */
static int take_setting(struct options *o, const char *name, char *value) {
  uint64_t rights = strcmp(name, "--ro") == 0   ? GRANT_RO
                    : strcmp(name, "--rx") == 0 ? GRANT_RX
                    : strcmp(name, "--rw") == 0 ? GRANT_RW
                                                : 0;
  int is_limit = strcmp(name, "--rlimit") == 0;
  int is_user = strcmp(name, "--user") == 0;
  int is_parent = strcmp(name, "--parent") == 0;
  int is_abi = strcmp(name, "--landlock-abi") == 0;
  int is_hold = strcmp(name, "--hold") == 0;
  int is_held = strcmp(name, "--held") == 0;
  if (!rights && !is_limit && !is_user && !is_parent && !is_abi && !is_hold && !is_held) return 0;
  if (value == NULL) FAIL("%s needs a value", name);
  if (rights) o->grants[o->grant_count++] = (struct grant){value, rights};
  if (is_limit) set_limit(value);
  if (is_user) set_user(o, value);
  if (is_parent) o->parent = (pid_t)number_of(value, "the value of --parent");
  if (is_abi) o->newest_abi = (int)number_of(value, "the value of --landlock-abi");
  if (is_hold) o->holds[o->hold_count++] = value;
  if (is_held) o->held = number_of(value, "the value of --held");
  return 1;
}

static struct options parse(int argc, char **argv) {
  struct options o = {.newest_abi = LANDLOCK_NEWEST_ABI};
  o.grants = calloc((size_t)argc + 1, sizeof *o.grants);
  o.holds = calloc((size_t)argc + 1, sizeof *o.holds);
  if (o.grants == NULL || o.holds == NULL) FAIL("out of memory");
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
    if (take_switch(&o, argv[at])) continue;
    if (!take_setting(&o, argv[at], argv[at + 1])) FAIL("unknown option '%s' (the command stands behind --)", argv[at]);
    at++;
  }
  if (!o.probe && at + 1 >= argc) FAIL("no command: launcher [options] -- command [args...]");
  o.command = argv + at + 1;
  if (o.held > o.grant_count) FAIL("--held takes no more than the number of paths, not %zu", o.held);
  if (o.newest_abi > LANDLOCK_NEWEST_ABI) o.newest_abi = LANDLOCK_NEWEST_ABI;
  if (o.dangerous || o.switch_user) o.drop_caps = 1;
  return o;
}

#endif
