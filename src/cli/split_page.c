/* Files of a picture. */
#include "cli/split_page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Parts</title><style>\n"
    "body{margin:0;font:14px Helvetica,Arial,sans-serif;display:flex;height:100vh}\n"
    "#picture{flex:1;overflow:auto;padding:8px}\n"
    "#side{width:26em;overflow:auto;border-left:1px solid #bbb;padding:8px;box-sizing:border-box}\n"
    "#search{width:100%;box-sizing:border-box;padding:4px;font:inherit}\n"
    "g.node,g.cluster{cursor:pointer} g.found>polygon,g.found>path{stroke:#d50000;stroke-width:3}\n"
    "table{border-collapse:collapse;width:100%} td{border-top:1px solid #ddd;padding:2px 4px;vertical-align:top;"
    "overflow-wrap:anywhere}\n"
    ".key span{display:inline-block;padding:2px 6px;margin:2px;border:1px solid #999}\n"
    "</style></head><body><div id=\"picture\">\n";

static const char page_middle[] =
    "</div><div id=\"side\"><input id=\"search\" type=\"search\" placeholder=\"find a node or a value\">\n"
    "<p id=\"hits\"></p><p class=\"key\"><span style=\"background:#cfe8cf\">static</span>"
    "<span style=\"background:#cfe0f5\">symbolic</span><span style=\"background:#f7d9c4\">dynamic</span></p>\n"
    "<div id=\"detail\">Click a part or a node.</div></div>\n<script type=\"application/json\" id=\"data\">";

static const char page_tail[] =
    "</script><script>\n"
    "'use strict';\n"
    "const data = JSON.parse(document.getElementById('data').textContent);\n"
    "const detail = document.getElementById('detail'), hits = document.getElementById('hits');\n"
    "const home = new Map();\n"
    "data.graphs.forEach((g, r) => g.parts.forEach((p, k) => {\n"
    "  p.element = document.getElementById(`part${r}_${k}`);\n"
    "  p.nodes.forEach(n => { n.part = p; n.element = document.getElementById('node' + n.id) || p.element;\n"
    "    if (n.element !== p.element) home.set(n.element, [p, n]); });\n"
    "  home.set(p.element, [p, null]);\n"
    "}));\n"
    "function line(table, key, value) {\n"
    "  const row = table.insertRow();\n"
    "  row.insertCell().textContent = key; row.insertCell().textContent = value;\n"
    "}\n"
    "function show(part, node) {\n"
    "  detail.replaceChildren();\n"
    "  const title = document.createElement('h3'), table = document.createElement('table');\n"
    "  title.textContent = part.name;\n"
    "  if (node) { line(table, 'node', node.name); line(table, 'operator', node.op); line(table, 'is', node.kind);\n"
    "    line(table, 'because', node.why); if (node.refused) line(table, 'not elsewhere', node.refused); }\n"
    "  line(table, 'kind', part.kind); line(table, 'engine', part.engine);\n"
    "  if (part.stage !== null) line(table, 'stage', part.stage);\n"
    "  line(table, 'because', part.reason); line(table, 'FLOPs', part.flops);\n"
    "  for (const v of part.inputs) line(table, 'in', `${v.name}: ${v.type}, ${v.bytes || '?'} B`);\n"
    "  for (const v of part.outputs) line(table, 'out', `${v.name}: ${v.type}, ${v.bytes || '?'} B`);\n"
    "  for (const c of part.conditions) line(table, 'must hold', `${c.expr} (${c.why})`);\n"
    "  for (const n of part.nodes) line(table, n.op, n.name);\n"
    "  detail.append(title, table);\n"
    "}\n"
    "document.getElementById('picture').addEventListener('click', event => {\n"
    "  for (let e = event.target; e; e = e.parentElement) if (home.has(e)) return show(...home.get(e));\n"
    "});\n"
    "function find(text) {\n"
    "  document.querySelectorAll('.found').forEach(e => e.classList.remove('found'));\n"
    "  hits.textContent = '';\n"
    "  if (!text) return;\n"
    "  const low = text.toLowerCase(), found = [];\n"
    "  for (const g of data.graphs) for (const p of g.parts) {\n"
    "    for (const n of p.nodes) if (n.name.toLowerCase().includes(low)) found.push([p, n]);\n"
    "    for (const v of p.outputs) if (v.name.toLowerCase().includes(low)) found.push([p, null]);\n"
    "  }\n"
    "  for (const [p, n] of found) { const e = n ? n.element : p.element; if (e) e.classList.add('found'); }\n"
    "  hits.textContent = `${found.length} found`;\n"
    "  if (!found.length) return;\n"
    "  show(...found[0]);\n"
    "  const first = found[0][1] ? found[0][1].element : found[0][0].element;\n"
    "  if (first) first.scrollIntoView({block: 'center', inline: 'center'});\n"
    "}\n"
    "document.getElementById('search').addEventListener('input', event => find(event.target.value));\n"
    "</script></body></html>\n";

static int page_layout(const char *from, const char *to) {
  char *const argv[] = {tn_cli_print("dot"), tn_cli_print("-Tsvg"),  tn_cli_print("%s", from),
                        tn_cli_print("-o"),  tn_cli_print("%s", to), NULL};
  const int status = tn_cli_spawn(argv);
  if (status == 0) return TN_EXIT_OK;
  tn_cli_error(status == 127 ? "Graphviz's program 'dot' is needed to lay out %s" : "'dot' could not lay out %s", to);
  return TN_EXIT_FAILED;
}

/* A whole file, NUL-terminated, in lasting memory; NULL when it cannot be read. */
static char *page_read(const char *path) {
  FILE *file = fopen(path, "rb");
  long n = -1;
  char *text = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) n = ftell(file);
  if (n >= 0 && fseek(file, 0, SEEK_SET) == 0) text = tn_cli_alloc((size_t)n + 1, 1);
  if (text && fread(text, 1, (size_t)n, file) != (size_t)n) text = NULL;
  if (file) fclose(file);
  return text;
}

/* Inside of a script element nothing may look like its end. */
static void page_put_json(FILE *file, const tn_blob *json) {
  for (size_t i = 0; i < json->len; i++)
    if (json->text[i] == '<')
      fputs("\\u003c", file);
    else
      fputc(json->text[i], file);
}

static int page_write_html(const char *path, const char *svg, const tn_blob *json) {
  const char *text = page_read(svg), *start = text ? strstr(text, "<svg") : NULL;
  FILE *file = start ? fopen(path, "wb") : NULL;
  bool ok = file != NULL;
  if (file) {
    fputs(page_head, file);
    fputs(start, file);
    fputs(page_middle, file);
    page_put_json(file, json);
    fputs(page_tail, file);
    ok = !ferror(file);
    ok = fclose(file) == 0 && ok;
  }
  if (ok) return TN_EXIT_OK;
  tn_cli_error("cannot write %s: %s", path, start ? strerror(errno) : "the layout cannot be read");
  return TN_EXIT_FAILED;
}

static int page_tool(const char *model, const tn_tool_split_options *o, bool is_dot, tn_blob *out) {
  tn_tool_split_options as = *o;
  tn_report *report = NULL;
  as.dot = is_dot;
  as.json = !is_dot;
  as.graph = 0;
  as.dir = NULL;
  const tn_status s = tn_tool_split(model, &as, out, &report);
  return tn_cli_report(s, report);
}

static int page_html(const char *model, const tn_tool_split_options *o, const char *svg, const char *path) {
  tn_blob json = {0};
  int status = page_tool(model, o, false, &json);
  if (status == TN_EXIT_OK) status = page_write_html(path, svg, &json);
  tn_blob_free(&json);
  return status;
}

int tn_split_draw(const char *model, const tn_tool_split_options *o, const tn_split_pictures *files) {
  tn_blob text = {0};
  int status = page_tool(model, o, true, &text);
  if (status != TN_EXIT_OK) return status;
  char *const dot_made = files->dot ? NULL : tn_cli_temporary(false);
  char *const svg_made = files->svg || !files->html ? NULL : tn_cli_temporary(false);
  const char *const dot = files->dot ? files->dot : dot_made, *const svg = files->svg ? files->svg : svg_made;
  status = dot && (svg || !files->html) ? tn_cli_deliver(&text, dot) : TN_EXIT_FAILED;
  if (status == TN_EXIT_OK && svg) status = page_layout(dot, svg);
  if (status == TN_EXIT_OK && files->html) status = page_html(model, o, svg, files->html);
  if (dot_made) unlink(dot_made);
  if (svg_made) unlink(svg_made);
  return status;
}
