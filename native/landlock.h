/*
 * Landlock through raw system calls: which paths a process and all its descendants may use, whether they may use TCP,
 * and whom they may signal. The kernel's numbers stand here, so that the build does not depend on the age of the
 * installed headers (https://docs.kernel.org/userspace-api/landlock.html).
 */
#ifndef TOOLKEEPER_LANDLOCK_H
#define TOOLKEEPER_LANDLOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture. */
#define SYS_LANDLOCK_CREATE_RULESET 444
#define SYS_LANDLOCK_ADD_RULE 445
#define SYS_LANDLOCK_RESTRICT_SELF 446

#define LANDLOCK_CREATE_RULESET_VERSION_FLAG 1u
#define LANDLOCK_RULE_TYPE_PATH_BENEATH 1

/* The newest version whose rights this file knows. A newer kernel is used as if it were this one. */
#define LANDLOCK_NEWEST_ABI 6

enum {
  FS_EXECUTE = 1u << 0,
  FS_WRITE_FILE = 1u << 1,
  FS_READ_FILE = 1u << 2,
  FS_READ_DIR = 1u << 3,
  FS_REMOVE_DIR = 1u << 4,
  FS_REMOVE_FILE = 1u << 5,
  FS_MAKE_CHAR = 1u << 6,
  FS_MAKE_DIR = 1u << 7,
  FS_MAKE_REG = 1u << 8,
  FS_MAKE_SOCK = 1u << 9,
  FS_MAKE_FIFO = 1u << 10,
  FS_MAKE_BLOCK = 1u << 11,
  FS_MAKE_SYM = 1u << 12,
  FS_REFER = 1u << 13,    /* version 2 */
  FS_TRUNCATE = 1u << 14, /* version 3 */
  FS_IOCTL_DEV = 1u << 15 /* version 5 */
};
enum { NET_BIND_TCP = 1u << 0, NET_CONNECT_TCP = 1u << 1 };             /* version 4 */
enum { SCOPE_ABSTRACT_UNIX_SOCKET = 1u << 0, SCOPE_SIGNAL = 1u << 1 }; /* version 6 */

/* What the three path options grant; what they do not name (devices, ioctl on devices) nobody gets. */
#define GRANT_RO ((uint64_t)(FS_READ_FILE | FS_READ_DIR))
#define GRANT_RX (GRANT_RO | FS_EXECUTE)
#define GRANT_RW                                                                                                 \
  (GRANT_RO | FS_WRITE_FILE | FS_TRUNCATE | FS_REFER | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |            \
   FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM)
/* A rule on something that is no directory may hold these alone. */
#define RIGHTS_OF_FILES ((uint64_t)(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV))

struct landlock_ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

struct landlock_path_rule {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));

/* The version that the kernel offers, 0 where it has no landlock or where that is switched off. */
static int landlock_abi(void) {
  long abi = syscall(SYS_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION_FLAG);
  return abi < 0 ? 0 : (int)abi;
}

static uint64_t fs_rights_of(int abi) {
  uint64_t rights = (FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) rights |= FS_REFER;
  if (abi >= 3) rights |= FS_TRUNCATE;
  if (abi >= 5) rights |= FS_IOCTL_DEV;
  return rights;
}

/*
 * Opens a ruleset for as much of the wanted as this version knows. `paths`: every use of a file needs a rule. `tcp`: bind
 * and connect are denied. Signals and abstract unix sockets to processes outside are denied always. Returns its
 * descriptor, or -1 with errno; ENOMSG means that this version knows nothing of the wanted.
 */
static int landlock_open(int abi, int paths, int tcp) {
  struct landlock_ruleset ruleset = {0};
  if (paths && abi >= 1) ruleset.handled_access_fs = fs_rights_of(abi);
  if (tcp && abi >= 4) ruleset.handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP;
  if (abi >= 6) ruleset.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
  /* An older kernel takes a longer structure as long as what it does not know is zero. */
  return (int)syscall(SYS_LANDLOCK_CREATE_RULESET, &ruleset, sizeof ruleset, 0);
}

/* Grants `rights` at and below what the descriptor holds. 0, or -1 with errno. */
static int landlock_grant(int ruleset, int abi, int fd, uint64_t rights) {
  struct stat about;
  if (fstat(fd, &about) != 0) return -1;
  struct landlock_path_rule rule = {.allowed_access = rights & fs_rights_of(abi), .parent_fd = fd};
  if (!S_ISDIR(about.st_mode)) rule.allowed_access &= RIGHTS_OF_FILES;
  return (int)syscall(SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_TYPE_PATH_BENEATH, &rule, 0);
}

/* From here on the ruleset holds for this process and all that it starts. Needs no_new_privs. Closes the descriptor. */
static int landlock_apply(int ruleset) {
  int result = (int)syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0);
  int reason = errno;
  close(ruleset);
  errno = reason;
  return result;
}

#endif
