// SPDX-License-Identifier: GPL-2.0-only
// /proc/nicshell: one line for each call that reached the kernel's side, the oldest first; a write empties it.
//
//   12 e810-roce create_qp refused EINVAL by irdma_validate_qp_attrs: type 2, wr 40000/1, sge 1/1, inline 0
//   13 e810-roce create_cq granted: cqe 130
//
// A call that failed without a line here was refused by the user-space driver itself, or by libibverbs or the kernel's
// uverbs before any driver is asked.
#include <linux/errname.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "nicshell.h"

#define LINES 4096
#define LINE_LENGTH 240

static DEFINE_MUTEX(record_lock);
static char (*lines)[LINE_LENGTH];
static unsigned long written; /* lines ever, of which the last LINES are kept */
static unsigned long emptied; /* lines that were there when it was last emptied */

int nic_record(const struct nic* nic, const char* verb, int result, const struct verdict* verdict, const char* format,
               ...) {
  va_list arguments;
  char* line;
  int length;

  mutex_lock(&record_lock);
  line = lines[written % LINES];
  length = scnprintf(line, LINE_LENGTH, "%lu %s %s ", written, nic->model->name, verb);
  if (result == 0)
    length += scnprintf(line + length, LINE_LENGTH - length, "granted: ");
  else
    length += scnprintf(line + length, LINE_LENGTH - length, "refused %s by %s: ", errname(-result) ?: "?",
                        verdict->by ?: "shell");
  va_start(arguments, format);
  vscnprintf(line + length, LINE_LENGTH - length, format, arguments);
  va_end(arguments);
  written++;
  mutex_unlock(&record_lock);
  return result;
}

static unsigned long first_kept(void) {
  return max(emptied, written > LINES ? written - LINES : 0);
}

static void* record_start(struct seq_file* file, loff_t* position) {
  mutex_lock(&record_lock);
  return first_kept() + *position < written ? lines[(first_kept() + *position) % LINES] : NULL;
}

static void* record_next(struct seq_file* file, void* line, loff_t* position) {
  ++*position;
  return first_kept() + *position < written ? lines[(first_kept() + *position) % LINES] : NULL;
}

static void record_stop(struct seq_file* file, void* line) {
  mutex_unlock(&record_lock);
}

static int record_show(struct seq_file* file, void* line) {
  seq_printf(file, "%s\n", (char*)line);
  return 0;
}

static const struct seq_operations record_sequence = {
    .start = record_start, .next = record_next, .stop = record_stop, .show = record_show};

static int record_open(struct inode* inode, struct file* file) {
  return seq_open(file, &record_sequence);
}

static ssize_t record_write(struct file* file, const char __user* text, size_t size, loff_t* position) {
  mutex_lock(&record_lock);
  emptied = written;
  mutex_unlock(&record_lock);
  return size;
}

static const struct proc_ops record_file = {.proc_open = record_open,
                                            .proc_read = seq_read,
                                            .proc_lseek = seq_lseek,
                                            .proc_write = record_write,
                                            .proc_release = seq_release};

int nic_start_record(void) {
  lines = kvcalloc(LINES, LINE_LENGTH, GFP_KERNEL);
  if (!lines) return -ENOMEM;
  if (proc_create("nicshell", 0644, NULL, &record_file)) return 0;
  kvfree(lines);
  return -ENOMEM;
}

void nic_stop_record(void) {
  remove_proc_entry("nicshell", NULL);
  kvfree(lines);
}
