/* tenon split: the parts of a model. */
#include <string.h>

#include "cli/split_check.h"
#include "cli/split_page.h"

typedef struct split_flags {
  const char *mode, *symbolic, *target, *dir, *runner, *stage_file;
  tn_texts dims;
  tn_texts force_dynamic, exclude;
  int64_t min_static_ops, gear, runs, seed, stages;
  bool check, nodes, json, graph;
  tn_split_pictures pictures;
  tn_compile_flags compile;
} split_flags;

static int split_check(const split_flags *f, tn_tool_split_options *o) {
  if (f->symbolic && strcmp(f->symbolic, "static") != 0 && strcmp(f->symbolic, "dynamic") != 0) {
    tn_cli_error("--treat-symbolic-as: '%s' is not static or dynamic", f->symbolic);
    return TN_EXIT_USAGE;
  }
  const bool has_gears = f->compile.batch_sizes || f->compile.image_sizes || f->compile.gear_dims;
  if (has_gears != (f->gear >= 0) || f->compile.gear_miss) {
    tn_cli_error(f->compile.gear_miss ? "--gear-miss: parts have the sizes of one gear"
                 : has_gears          ? "--for-gear must say which gear"
                                      : "--for-gear without gears");
    return TN_EXIT_USAGE;
  }
  if (f->check && !f->dir) {
    tn_cli_error("--check needs -o DIR, where the parts are");
    return TN_EXIT_USAGE;
  }
  if (f->runner && (!f->check || (strcmp(f->runner, "tenon") != 0 && strcmp(f->runner, "ort") != 0))) {
    tn_cli_error(f->check ? "--runner: '%s' is not tenon or ort" : "--runner %s without --check", f->runner);
    return TN_EXIT_USAGE;
  }
  o->symbolic_is_dynamic = f->symbolic && strcmp(f->symbolic, "dynamic") == 0;
  return TN_OPTIONS_GO_ON;
}

/* One command in a process: what is given can stand here, so that the table is constant. */
static split_flags split_given = {.min_static_ops = TN_TOOL_SPLIT_BY_COST, .gear = -1, .runs = 3};

static const tn_option split_rows[] = {
    {.letter = 'o',
     .name = "output",
     .arg = "DIR",
     .text = &split_given.dir,
     .help = "write the parts as ONNX models, and DIR/manifest.json"},
    {.name = "check",
     .flag = &split_given.check,
     .help = "run the parts and the whole at random valid sizes and compare"},
    {.name = "runs", .arg = "N", .integer = &split_given.runs, .least = 1, .help = "of --check (default 3)"},
    {.name = "seed", .arg = "N", .integer = &split_given.seed, .least = 0, .help = "of --check (default 0)"},
    {.name = "runner",
     .arg = "NAME",
     .text = &split_given.runner,
     .help = "what --check runs the parts with: tenon (default) or ort"},
    {.name = "for-gear", .arg = "N", .integer = &split_given.gear, .least = 0, .help = "at the sizes of gear N"},
    {.name = "dot", .arg = "FILE", .text = &split_given.pictures.dot, .help = "write a picture in Graphviz's language"},
    {.name = "svg", .arg = "FILE", .text = &split_given.pictures.svg, .help = "write a picture (Graphviz lays it out)"},
    {.name = "html",
     .arg = "FILE",
     .text = &split_given.pictures.html,
     .help = "write a page with the picture, searched and clicked for details; it needs no network"},
    {.name = "mode",
     .arg = "MODE",
     .text = &split_given.mode,
     .help = "paths (default: what lies between dynamic neighbours is dynamic), known-first, order"},
    {.name = "treat-symbolic-as",
     .arg = "KIND",
     .text = &split_given.symbolic,
     .help = "static (default) or dynamic: sizes that follow from the inputs' shapes"},
    {.name = "min-static-ops",
     .arg = "N",
     .integer = &split_given.min_static_ops,
     .least = -1,
     .help = "a static part of fewer operators becomes dynamic; -1: all is dynamic; without it a cost model says"},
    {.name = "force-dynamic",
     .arg = "PATTERN",
     .list = &split_given.force_dynamic,
     .help = "nodes whose name is like it ('*', '?') are dynamic"},
    {.name = "target",
     .arg = "FILE",
     .text = &split_given.target,
     .help = "engines, what they take and cost (doc/target.md)"},
    {.name = "exclude-engine",
     .arg = "NAME",
     .list = &split_given.exclude,
     .help = "takes no node (\"tenon\" is the built-in one)"},
    {.name = "stages",
     .arg = "N",
     .integer = &split_given.stages,
     .least = 1,
     .help = "N stages of equal work, cut where few bytes cross"},
    {.name = "stage-file",
     .arg = "FILE",
     .text = &split_given.stage_file,
     .help = "stages by nodes' names: lines \"STAGE PATTERN\""},
    {.name = "dim",
     .arg = "B=8,S=128",
     .list = &split_given.dims,
     .help = "sizes at which --stages and weights of engines count"},
    {.name = "nodes", .flag = &split_given.nodes, .help = "list the nodes of each part"},
    {.name = "graph", .flag = &split_given.graph, .help = "print the graph with its parts as calls instead"},
    {.name = "json", .flag = &split_given.json, .help = "print JSON"},
    TN_COMPILE_ROWS(split_given.compile),
    TN_GEAR_ROWS(split_given.compile),
};

static const char split_about[] =
    "Prints the parts that the model is cut into: static (all dims are numbers), symbolic (all dims follow from the\n"
    "inputs' shapes) and dynamic (a size is known only when run), with what goes in and out of each.";

static void split_take(const split_flags *f, const tn_compile_options *compile, tn_tool_split_options *o) {
  o->mode = f->mode;
  o->min_static_ops = f->min_static_ops;
  o->force_dynamic = f->force_dynamic.items;
  o->n_force_dynamic = f->force_dynamic.n;
  o->target = f->target;
  o->exclude = f->exclude.items;
  o->n_exclude = f->exclude.n;
  o->n_stages = f->stages;
  o->stage_file = f->stage_file;
  o->dims = tn_texts_join(&f->dims);
  o->nodes = f->nodes;
  o->json = f->json;
  o->graph = f->graph;
  o->dir = f->dir;
  o->gear = f->gear + 1;
  o->compile = compile;
}

int tn_cmd_split(int argc, char **argv) {
  const split_flags *f = &split_given;
  const char *model;
  int status = tn_options_parse_model("split", split_about, split_rows, TN_CLI_COUNT(split_rows), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  tn_tool_split_options o = {.size = sizeof o};
  status = split_check(f, &o);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options compile = tn_compile_flags_get(&f->compile);
  split_take(f, &compile, &o);
  if (f->pictures.dot || f->pictures.svg || f->pictures.html) {
    status = tn_split_draw(model, &o, &f->pictures);
    if (status != TN_EXIT_OK || !f->dir) return status;
  }
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_split(model, &o, &text, &report);
  status = tn_cli_finish(done, report, &text, NULL);
  if (!f->check || status != TN_EXIT_OK) return status;
  const tn_split_check check = {.model = model,
                                .dir = f->dir,
                                .compile = &compile,
                                .gear = o.gear,
                                .runner = f->runner ? f->runner : "tenon",
                                .runs = f->runs,
                                .seed = f->seed};
  return tn_split_check_run(&check);
}
