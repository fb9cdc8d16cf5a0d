/*
 * Which system calls a tool is refused, and why. Everything is expressed with the small language of seccomp.h.
 */
#ifndef TOOLKEEPER_RULES_H
#define TOOLKEEPER_RULES_H

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "seccomp.h"

/* Younger than the headers that this may be built with. */
#define NR_FCHMODAT2 452u
#define NR_SETXATTRAT 463u
#define NR_REMOVEXATTRAT 466u
#define NR_OPEN_TREE_ATTR 467u
#define NR_FILE_SETATTR 469u
#define NR_NEWEST_KNOWN NR_FILE_SETATTR

/* Commands of fcntl younger than the headers. */
#define FCNTL_DUPFD_QUERY 1027u
#define FCNTL_CREATED_QUERY 1028u

#define ARGUMENT(name, index) ((struct operand){.number = (name), .argument = (index), .mask = ~0u})

static const unsigned ZERO[] = {0};

/* Reaching into other processes, the kernel, mounts and namespaces: no tool needs these. */
static const unsigned DANGEROUS[] = {
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_process_madvise, __NR_kcmp, __NR_pidfd_getfd,
    __NR_move_pages, __NR_migrate_pages,
    /* the kernel itself */
    __NR_kexec_load, __NR_kexec_file_load, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_bpf,
    __NR_perf_event_open, __NR_userfaultfd, __NR_syslog, __NR_reboot, __NR_acct, __NR_swapon, __NR_swapoff,
    __NR_quotactl, __NR_quotactl_fd, __NR_fanotify_init, __NR_lookup_dcookie, __NR_vhangup, __NR_settimeofday,
    __NR_clock_settime, __NR_sethostname, __NR_setdomainname,
    /* a ring does the work of other system calls and no filter sees which */
    __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register,
    /* keys are shared by all processes of a user */
    __NR_add_key, __NR_request_key, __NR_keyctl,
    /* mounts and namespaces */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_move_mount, __NR_open_tree, NR_OPEN_TREE_ATTR,
    __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick, __NR_mount_setattr, __NR_setns, __NR_unshare,
    /* opens a file by its number, past every path */
    __NR_open_by_handle_at,
    /* outlives the tool, and counts as nobody's memory; other tools of the same user find it by its number */
    __NR_shmget, __NR_shmat, __NR_shmctl, __NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_semget, __NR_semop,
    __NR_semtimedop, __NR_semctl, __NR_mq_open, __NR_mq_unlink,
    /* a file in memory: of no path, so that landlock would let it be executed, and nobody's memory while it is not mapped */
    __NR_memfd_create, __NR_memfd_secret,
#if defined(__x86_64__)
    __NR_iopl, __NR_ioperm, __NR_modify_ldt, __NR_uselib, __NR_create_module, __NR_get_kernel_syms,
    __NR_query_module,
#endif
    __NR_nfsservctl,
};

/* Sockets other than these are of no use to a tool and a large part of the kernel to attack. */
static void deny_unusual_sockets(struct filter *f) {
  static const unsigned usual[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  deny_unless_one_of(f, ARGUMENT(__NR_socket, 0), usual, COUNT(usual), EAFNOSUPPORT);
}

static void deny_namespaces(struct filter *f) {
  const unsigned new_namespace = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                 CLONE_NEWPID | CLONE_NEWNET;
  deny_if_any_bit(f, ARGUMENT(__NR_clone, 0), new_namespace, EPERM);
  /* Its flags stand in memory, where no filter can look. On ENOSYS every libc takes clone instead. */
  deny(f, __NR_clone3, ENOSYS);
}

/*
 * What one process may do to another of the same user, and landlock does not know: its limits (a gateway with
 * RLIMIT_CPU 1 is dead), its priority and its processors. 0 is the process itself.
 */
static void deny_meddling(struct filter *f) {
  static const unsigned one_process[] = {1}; /* IOPRIO_WHO_PROCESS */
  deny_unless_one_of(f, ARGUMENT(__NR_prlimit64, 0), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_setpriority, 0), ZERO, 1, EPERM); /* PRIO_PROCESS */
  deny_unless_one_of(f, ARGUMENT(__NR_setpriority, 1), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_ioprio_set, 0), one_process, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_ioprio_set, 1), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_sched_setscheduler, 0), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_sched_setparam, 0), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_sched_setaffinity, 0), ZERO, 1, EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_sched_setattr, 0), ZERO, 1, EPERM);
}

/*
 * What is known to be harmless. A lease makes whoever opens the file wait for its holder, a notification and an owner
 * send signals, and all three ask for no more than leave to read.
 */
static void allow_known_fcntl(struct filter *f) {
  static const unsigned known[] = {
      F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK,
      F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS, F_GETOWN, F_GETOWN_EX, F_GETSIG, F_GETLEASE,
      F_GET_RW_HINT, F_SET_RW_HINT, F_GET_FILE_RW_HINT, F_SET_FILE_RW_HINT, FCNTL_DUPFD_QUERY, FCNTL_CREATED_QUERY,
  };
  deny_unless_one_of(f, ARGUMENT(__NR_fcntl, 1), known, COUNT(known), EPERM);
}

/*
 * Terminals, descriptors and sockets, but for a few requests, and what copies and describes files. The rest (flags of
 * files among them) finds no device that would know it.
 */
static void allow_known_ioctls(struct filter *f) {
  /* Input pushed into a terminal is run by the shell that reads it. An owner gets signals. */
  static const unsigned refused[] = {TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, FIOSETOWN, SIOCSPGRP};
  static const unsigned kinds[] = {TCGETS & 0xff00, FIOGETOWN & 0xff00};
  static const unsigned files[] = {FICLONE, FICLONERANGE, FIDEDUPERANGE, FIGETBSZ, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR,
                                   FS_IOC_FIEMAP};
  deny_if_one_of(f, ARGUMENT(__NR_ioctl, 1), refused, COUNT(refused), EPERM);
  size_t rule = begin_rule(f, __NR_ioctl);
  load_argument(f, 1, 0xff00);
  /* A match jumps over the kinds that are left, the next load, the files and the refusal. */
  for (size_t n = 0; n < COUNT(kinds); n++) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(COUNT(kinds) - n + COUNT(files) + 1), 0, kinds[n]);
  }
  load_argument(f, 1, ~0u);
  for (size_t n = 0; n < COUNT(files); n++) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(COUNT(files) - n), 0, files[n]);
  }
  fail_with(f, ENOTTY);
  end_rule(f, rule);
}

/* A program that a tool of root's left where others find it would make root of whoever runs it. */
static void deny_set_user_id(struct filter *f) {
  const struct operand modes[] = {
      ARGUMENT(__NR_fchmod, 1), ARGUMENT(__NR_fchmodat, 2), ARGUMENT(NR_FCHMODAT2, 2),
#if defined(__x86_64__)
      ARGUMENT(__NR_chmod, 1),
#endif
  };
  for (size_t n = 0; n < COUNT(modes); n++) deny_if_any_bit(f, modes[n], S_ISUID | S_ISGID, EPERM);
}

static void deny_personalities(struct filter *f) {
  static const unsigned harmless[] = {0, 0xffffffffu}; /* the usual one; asking */
  deny_unless_one_of(f, ARGUMENT(__NR_personality, 0), harmless, COUNT(harmless), EPERM);
}

static void rules_dangerous(struct filter *f) {
  deny_each(f, DANGEROUS, COUNT(DANGEROUS), EPERM);
  deny_unusual_sockets(f);
  deny_namespaces(f);
  deny_meddling(f);
  allow_known_fcntl(f);
  allow_known_ioctls(f);
  deny_set_user_id(f);
  deny_personalities(f);
  /* What a later kernel may bring stays out until this list has looked at it. */
  emit(f, BPF_JMP | BPF_JGT | BPF_K, 0, 1, NR_NEWEST_KNOWN);
  fail_with(f, ENOSYS);
}

/* RLIMIT_DATA counts private memory that may be written, unless it grows as a stack does. */
static void rules_private_memory(struct filter *f) {
  static const unsigned shared_of_no_file[] = {MAP_SHARED | MAP_ANONYMOUS};
  deny_if_one_of(f, (struct operand){__NR_mmap, 3, MAP_SHARED | MAP_ANONYMOUS}, shared_of_no_file, 1, EPERM);
  deny_if_any_bit(f, ARGUMENT(__NR_mmap, 3), MAP_GROWSDOWN, EPERM);
}

/*
 * A pair of datagram sockets could be sent, or connected, to any path (the log daemon's); streams stay with their pair.
 */
static void deny_loose_pairs(struct filter *f) {
  static const unsigned tied[] = {SOCK_STREAM, SOCK_SEQPACKET};
  const unsigned without_flags = 0xf;
  deny_unless_one_of(f, (struct operand){__NR_socketpair, 1, without_flags}, tied, COUNT(tied), EPERM);
}

static void rules_no_unix(struct filter *f) {
  static const unsigned unix_only[] = {AF_UNIX};
  deny_if_one_of(f, ARGUMENT(__NR_socket, 0), unix_only, 1, EPERM);
  deny_loose_pairs(f);
}

/* connect, bind and listen have nothing left to work on; they are denied for sockets that come in some other way. */
static void rules_no_net(struct filter *f) {
  static const unsigned denied[] = {__NR_socket, __NR_connect, __NR_bind, __NR_listen,
                                    __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register};
  static const unsigned unix_only[] = {AF_UNIX};
  deny_each(f, denied, COUNT(denied), EPERM);
  deny_unless_one_of(f, ARGUMENT(__NR_socketpair, 0), unix_only, 1, EPERM);
  deny_loose_pairs(f);
}

/* With these every descendant stays in the process group, and a signal to the group reaches all. */
static void rules_no_detach(struct filter *f) {
  static const unsigned denied[] = {__NR_setsid, __NR_setpgid};
  deny_each(f, denied, COUNT(denied), EPERM);
}

/*
 * Landlock knows no mode, owner and attributes: a tool could change those of every file of its user, by path, and
 * through a descriptor of every file that it may read. Files of its own cannot be told apart: a filter sees a number.
 */
static void rules_no_chmod(struct filter *f) {
  static const unsigned denied[] = {
      __NR_fchmod, __NR_fchmodat, NR_FCHMODAT2, __NR_fchown, __NR_fchownat, __NR_setxattr, __NR_lsetxattr,
      __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, NR_SETXATTRAT, NR_REMOVEXATTRAT, NR_FILE_SETATTR,
#if defined(__x86_64__)
      __NR_chmod, __NR_chown, __NR_lchown,
#endif
  };
  deny_each(f, denied, COUNT(denied), EPERM);
}

/* The signal at the parent's death is only worth something while the tool cannot take it back. */
static void rules_keep_pdeathsig(struct filter *f) {
  size_t rule = begin_rule(f, __NR_prctl);
  load_argument(f, 0, ~0u);
  emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, PR_SET_PDEATHSIG);
  load_argument(f, 1, ~0u);
  emit(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SIGKILL);
  fail_with(f, EPERM);
  end_rule(f, rule);
}

/*
 * Where landlock cannot scope signals: none to everybody, to the parent, or to the parent's process group. Threads of
 * the parent and other processes of the same user stay within reach: a filter compares with constants alone.
 */
static void rules_spare_parent(struct filter *f) {
  static const unsigned senders[] = {__NR_kill, __NR_tkill, __NR_tgkill, __NR_rt_sigqueueinfo,
                                     __NR_rt_tgsigqueueinfo, __NR_pidfd_open};
  pid_t parent = getppid();
  if (parent == 0) return; /* in another PID namespace: out of reach anyway */
  pid_t group = getpgid(parent);
  /* 0 is the own group: within reach unless the parent belongs to it. */
  const unsigned spared[] = {(unsigned)parent, (unsigned)-1, (unsigned)-(group > 0 ? group : parent),
                             group == getpgrp() ? 0u : (unsigned)parent};
  for (size_t n = 0; n < COUNT(senders); n++) {
    deny_if_one_of(f, ARGUMENT(senders[n], 0), spared, COUNT(spared), EPERM);
  }
}

#endif
