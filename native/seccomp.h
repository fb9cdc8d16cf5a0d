/*
 * The system call filter, written by hand for the kernel's classic BPF. The accumulator holds the number of the system
 * call between two rules; a rule that looks at an argument loads it and puts the number back at its end. All arguments
 * compared here are 32 bits wide in the kernel, so their low halves decide (see `load_argument`).
 *
 * Rules are loads of number, architecture and arguments, and comparisons with constants, alone: the kernel finds out
 * at installation that read, write and the like are always allowed and then does not run the filter for them.
 */
#ifndef TOOLKEEPER_SECCOMP_H
#define TOOLKEEPER_SECCOMP_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "The filter is written for x86-64 and arm64."
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "load_argument takes the low half of an argument to come first."
#endif

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FILTER_MAX 512

struct filter {
  struct sock_filter code[FILTER_MAX];
  size_t length; /* FILTER_MAX + 1 once a rule did not fit */
};

/* ---- the assembler ---- */

static void emit(struct filter *f, unsigned short code, unsigned char yes, unsigned char no, unsigned k) {
  if (f->length >= FILTER_MAX) {
    f->length = FILTER_MAX + 1;
    return;
  }
  f->code[f->length++] = (struct sock_filter){.code = code, .jt = yes, .jf = no, .k = k};
}

static void load(struct filter *f, size_t offset) { emit(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset); }

static void load_number(struct filter *f) { load(f, offsetof(struct seccomp_data, nr)); }

/* The low 32 bits, under `mask`. */
static void load_argument(struct filter *f, unsigned index, unsigned mask) {
  load(f, offsetof(struct seccomp_data, args) + index * sizeof(__u64));
  if (mask != ~0u) emit(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

static void answer(struct filter *f, unsigned action) { emit(f, BPF_RET | BPF_K, 0, 0, action); }

static void fail_with(struct filter *f, int reason) { answer(f, SECCOMP_RET_ERRNO | (unsigned)reason); }

static void allow_all_else(struct filter *f) { answer(f, SECCOMP_RET_ALLOW); }

/* A rule for one system call: what is emitted until `end_rule` runs for that call only. */
static size_t begin_rule(struct filter *f, unsigned number) {
  emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number);
  return f->length - 1;
}

static void end_rule(struct filter *f, size_t rule) {
  load_number(f);
  if (f->length <= FILTER_MAX) f->code[rule].jf = (unsigned char)(f->length - rule - 1);
}

static void deny(struct filter *f, unsigned number, int reason) {
  emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
  fail_with(f, reason);
}

static void deny_each(struct filter *f, const unsigned *numbers, size_t count, int reason) {
  for (size_t n = 0; n < count; n++) deny(f, numbers[n], reason);
}

/* Which argument of which call is looked at. */
struct operand {
  unsigned number;
  unsigned argument;
  unsigned mask;
};

static void deny_if_one_of(struct filter *f, struct operand o, const unsigned *values, size_t count, int reason) {
  size_t rule = begin_rule(f, o.number);
  load_argument(f, o.argument, o.mask);
  for (size_t n = 0; n < count; n++) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, values[n]);
    fail_with(f, reason);
  }
  end_rule(f, rule);
}

static void deny_unless_one_of(struct filter *f, struct operand o, const unsigned *values, size_t count, int reason) {
  size_t rule = begin_rule(f, o.number);
  load_argument(f, o.argument, o.mask);
  /* A match jumps over the values that are left and over the refusal. */
  for (size_t n = 0; n < count; n++) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(count - n), 0, values[n]);
  }
  fail_with(f, reason);
  end_rule(f, rule);
}

static void deny_if_any_bit(struct filter *f, struct operand o, unsigned bits, int reason) {
  size_t rule = begin_rule(f, o.number);
  load_argument(f, o.argument, o.mask);
  emit(f, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
  fail_with(f, reason);
  end_rule(f, rule);
}

/* ---- installing ---- */

/* Another architecture has other numbers (32-bit calls of an x86-64 process, x32): whoever tries them is killed. */
static void begin_filter(struct filter *f) {
  f->length = 0;
  load(f, offsetof(struct seccomp_data, arch));
  emit(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE_ARCH);
  answer(f, SECCOMP_RET_KILL_PROCESS);
  load_number(f);
#if defined(__x86_64__)
  const unsigned x32 = 0x40000000u;
  emit(f, BPF_JMP | BPF_JGE | BPF_K, 0, 1, x32);
  answer(f, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* Needs no_new_privs. 0, or -1 with errno. */
static int install_filter(struct filter *f) {
  if (f->length > FILTER_MAX) {
    errno = E2BIG;
    return -1;
  }
  struct sock_fprog program = {.len = (unsigned short)f->length, .filter = f->code};
  return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

#endif
