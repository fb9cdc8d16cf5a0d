/*
 * How a path becomes the file that it names. Whoever may write in a folder on the way can put a symbolic link there
 * between the moment a path was checked and the moment it is opened: so none is followed, at the end or before it.
 */
#ifndef TOOLKEEPER_PATHS_H
#define TOOLKEEPER_PATHS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One step below `at`, which it closes. The descriptor, or -1 with errno: ELOOP where a symbolic link stands. */
static int step_without_link(int at, const char *name) {
  struct stat about;
  int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  int reason = errno;
  close(at);
  errno = reason;
  if (next < 0 || (fstat(next, &about) == 0 && !S_ISLNK(about.st_mode))) return next;
  close(next);
  errno = ELOOP;
  return -1;
}

/* Opens a path no part of which is a symbolic link; by steps, for openat2 is missing on some kernels. -1 with errno. */
static int open_without_links(const char *path) {
  char name[NAME_MAX + 1];
  int at = open(*path == '/' ? "/" : ".", O_PATH | O_CLOEXEC);
  while (at >= 0) {
    path += strspn(path, "/");
    size_t length = strcspn(path, "/");
    if (length == 0) return at;
    snprintf(name, sizeof name, "%.*s", (int)(length > NAME_MAX ? NAME_MAX : length), path);
    at = step_without_link(at, name);
    path += length;
  }
  return -1;
}

/* The same, but for `/proc/self`: the kernel's own link means this process. */
static int open_granted(const char *path) {
  const char self[] = "/proc/self";
  const size_t length = sizeof self - 1;
  if (strncmp(path, self, length) != 0 || (path[length] != '\0' && path[length] != '/')) return open_without_links(path);
  char number[32] = {0}, real[PATH_MAX];
  if (readlink(self, number, sizeof number - 1) < 0) return -1;
  snprintf(real, sizeof real, "/proc/%s%s", number, path + length);
  return open_without_links(real);
}

/* Whether two descriptors hold the same file. */
static int holds_same_file(int one, int other) {
  struct stat a, b;
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

#endif
