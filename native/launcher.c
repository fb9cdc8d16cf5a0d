/*
 * Confines itself, then becomes the command: paths by landlock, system calls by seccomp, resources by rlimits, and
 * death together with its parent. README.md in this directory says what each option does and does not stop.
 *
 *   launcher [options] -- command [args…]
 *   launcher --probe
 *
 * Ends with 125, and one line on stderr that begins with `toolkeeper-launcher:`, when something could not be set up:
 * the command was not run then. 126: the command cannot be executed. 127: there is no such command.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <grp.h>

#include "options.h"
#include "landlock.h"
#include "paths.h"
#include "rules.h"
#include "probe.h"

/* The first descriptor that `--hold` gives to the command. */
enum { FIRST_HELD = STDERR_FILENO + 1 };

static int wants_filter(const struct options *o) {
  return o->dangerous || o->no_net || o->no_unix || o->no_detach || o->no_chmod;
}

/* ---- setting up, in the order in which it happens ---- */

/* What the parent forgot to close would be a way around every path. */
static void close_files_from(unsigned first) {
  if (syscall(__NR_close_range, first, ~0u, 0u) == 0) return;
  struct rlimit open_files;
  if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) FAIL("getrlimit: %s", strerror(errno));
  for (rlim_t fd = first; fd < open_files.rlim_cur && fd < 1u << 20; fd++) close((int)fd);
}

static int opened(const char *path) {
  int fd = open_granted(path);
  if (fd < 0) FAIL("cannot grant %s: %s", path, errno == ELOOP ? "a symbolic link stands in it now" : strerror(errno));
  return fd;
}

/* What is held stays open for the command, from FIRST_HELD on in the order given. Every other descriptor is closed. */
static void hold_files(const struct options *o) {
  for (size_t n = 0; n < o->hold_count; n++) {
    int fd = opened(o->holds[n]), place = FIRST_HELD + (int)n;
    int result = fd == place ? fcntl(fd, F_SETFD, 0) : dup2(fd, place);
    if (result < 0) FAIL("cannot hold %s: %s", o->holds[n], strerror(errno));
    if (fd != place) close(fd);
  }
}

/* Somebody else, who follows links, has shown the first paths here: they must be what was held before. */
static int opened_grant(const struct options *o, size_t n) {
  int fd = opened(o->grants[n].path);
  if (n < o->held && !holds_same_file(fd, FIRST_HELD + (int)n)) {
    FAIL("cannot grant %s: something else stands there now", o->grants[n].path);
  }
  return fd;
}

/* Never raises a limit: where the one in force is lower, that stays. */
static void apply_limits(void) {
  for (size_t n = 0; n < COUNT(limits); n++) {
    if (!limits[n].given) continue;
    struct rlimit now;
    if (getrlimit(limits[n].resource, &now) != 0) FAIL("rlimit %s: %s", limits[n].name, strerror(errno));
    rlim_t soft = limits[n].value, hard = limits[n].value;
    /* SIGXCPU at the limit says why; who ignores that is killed a second later. */
    if (limits[n].resource == RLIMIT_CPU && hard < RLIM_INFINITY - 1) hard++;
    if (hard > now.rlim_max) hard = now.rlim_max;
    if (soft > hard) soft = hard;
    if (setrlimit(limits[n].resource, &(struct rlimit){soft, hard}) != 0) {
      FAIL("rlimit %s: %s", limits[n].name, strerror(errno));
    }
  }
}

/* With paths landlock is a must. Without, it is a second line behind the filter, where the kernel has it. */
static void apply_landlock(const struct options *o, int abi) {
  int paths = o->grant_count > 0;
  if (paths && abi == 0) FAIL("landlock is not available here: paths cannot be restricted");
  int has_second_line = (o->no_net && abi >= 4) || ((o->no_net || o->no_unix || o->dangerous) && abi >= 6);
  if (!paths && !has_second_line) return;
  int ruleset = landlock_open(abi, paths, o->no_net);
  if (ruleset < 0) FAIL("landlock: %s", strerror(errno));
  for (size_t n = 0; n < o->grant_count; n++) {
    int fd = opened_grant(o, n);
    if (landlock_grant(ruleset, abi, fd, o->grants[n].rights) != 0) {
      FAIL("cannot grant %s: %s", o->grants[n].path, strerror(errno));
    }
    close(fd);
  }
  if (landlock_apply(ruleset) != 0) FAIL("landlock: %s", strerror(errno));
}

/* A pipe belongs to who made it: without this `echo > /dev/stderr`, which opens it anew, is denied. */
static void own_pipes(uid_t uid, gid_t gid) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISFIFO(about.st_mode)) continue;
    if (fchown(fd, uid, gid) != 0) FAIL("the pipe %d: %s", fd, strerror(errno));
  }
}

/* For a parent that is root: another user has its own files, its own count of processes, and nobody to signal. */
static void become(uid_t uid, gid_t gid) {
  own_pipes(uid, gid);
  if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) {
    FAIL("user %u:%u: %s", (unsigned)uid, (unsigned)gid, strerror(errno));
  }
}

/* What no later program may gain. Needs CAP_SETPCAP: without it no_new_privs alone keeps programs from gaining. */
static void drop_bounding_set(void) {
  for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

/* Root without capabilities may still do what root owns: raise no limit, mount nothing, trace nobody. */
static void drop_capabilities(void) {
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* unknown to old kernels */
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
  if (syscall(__NR_capset, &header, none) != 0) FAIL("capabilities: %s", strerror(errno));
}

/* `before`: the parent as the launcher found it. A parent that died meanwhile sends no signal any more. */
static void die_with_parent(const struct options *o, pid_t before) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) FAIL("pdeathsig: %s", strerror(errno));
  pid_t expected = o->parent ? o->parent : before;
  if (getppid() != expected) FAIL("the parent %d is gone", (int)expected);
}

static int data_is_limited(void) {
  for (size_t n = 0; n < COUNT(limits); n++) {
    if (limits[n].resource == RLIMIT_DATA) return limits[n].given;
  }
  return 0;
}

static void apply_filter(const struct options *o, int abi) {
  struct filter filter;
  begin_filter(&filter);
  if (o->no_net) rules_no_net(&filter);
  if (o->no_unix) rules_no_unix(&filter);
  if (o->no_detach) rules_no_detach(&filter);
  if (o->no_chmod) rules_no_chmod(&filter);
  if (o->dangerous) rules_dangerous(&filter);
  if (o->dangerous && data_is_limited()) rules_private_memory(&filter);
  if (o->dangerous && o->pdeathsig) rules_keep_pdeathsig(&filter);
  if (o->dangerous && abi < 6) rules_spare_parent(&filter);
  allow_all_else(&filter);
  if (install_filter(&filter) != 0) FAIL("seccomp: %s", strerror(errno));
}

static void confine(const struct options *o, pid_t parent) {
  int offered = landlock_abi();
  int abi = offered < o->newest_abi ? offered : o->newest_abi;
  close_files_from(FIRST_HELD + (unsigned)o->held);
  hold_files(o);
  apply_limits();
  int confined = o->grant_count > 0 || wants_filter(o) || o->drop_caps;
  if ((confined || o->no_new_privs) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    FAIL("no_new_privs: %s", strerror(errno));
  }
  apply_landlock(o, abi);
  if (o->held > 0) close_files_from(FIRST_HELD);
  if (o->drop_caps) drop_bounding_set();
  if (o->switch_user) become(o->uid, o->gid);
  if (o->drop_caps) drop_capabilities();
  /* After the capabilities: a change of credentials may clear it. Before the filter: that may forbid it. */
  if (o->pdeathsig) die_with_parent(o, parent);
  if (wants_filter(o)) apply_filter(o, abi);
}

int main(int argc, char **argv) {
  pid_t parent = getppid();
  struct options o = parse(argc, argv);
  if (o.probe) {
    print_probe();
    return 0;
  }
  confine(&o, parent);
  execvp(o.command[0], o.command);
  stop(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "cannot run %s: %s", o.command[0], strerror(errno));
}
