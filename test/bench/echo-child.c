/* The smallest tool: answers every line with the id in it. Built by the benchmark where there is a compiler. */
#include <stdio.h>
#include <string.h>

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"id\":\"");
    if (!id) continue;
    id += 6;
    char *end = strchr(id, '"');
    if (!end) continue;
    printf("{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{}}\n", (int)(end - id), id);
    fflush(stdout);
  }
  return 0;
}
