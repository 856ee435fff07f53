#include "base/scan.h"

#include "base/text.h"
#include "test.h"

/* Runs `fn` as a compilation would, then looks at what it left in the context. */
static tn_status with_ctx(tn_status (*fn)(tn_ctx *ctx, void *arg), void *arg, char *diag, size_t size) {
  tn_ctx ctx;
  tn_error err = {0};
  if (!CHECK(tn_ctx_init(&ctx, tn_allocator_system(), &err) == TN_OK)) return TN_INTERNAL;
  const tn_status status = tn_ctx_run(&ctx, fn, arg);
  snprintf(diag, size, "%s", ctx.diags.n ? ctx.diags.at[0].full : "");
  tn_ctx_drop(&ctx);
  return status;
}

/* One line per token: K text. */
static tn_status list_tokens(tn_ctx *ctx, void *arg) {
  static const char *const kinds[] = {"end", "name", "int", "float", "string", "punct", "bad"};
  char **io = arg;
  tn_scan s;
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  for (tn_scan_init(&s, ctx, tn_str_of(io[0])); s.tok.kind != TN_TOK_END; tn_scan_next(&s)) {
    tn_text_printf(&t, "%d%s%s:", s.tok.line, s.tok.space_before ? " " : "", kinds[s.tok.kind]);
    if (s.tok.kind == TN_TOK_INT) {
      tn_text_printf(&t, "%lld", (long long)s.tok.i);
    } else if (s.tok.kind == TN_TOK_FLOAT) {
      tn_text_f64(&t, s.tok.f);
    } else {
      tn_text_add(&t, s.tok.text);
    }
    tn_text_addz(&t, "\n");
  }
  snprintf(io[1], 2000, "%s", tn_text_z(&t));
  return TN_OK;
}

static const char *tokens(const char *src) {
  static char out[2000], diag[2000], copy[1000];
  snprintf(copy, sizeof copy, "%s", src);
  char *io[2] = {copy, out};
  CHECK_EQ_I(with_ctx(list_tokens, io, diag, sizeof diag), TN_OK);
  return out;
}

TEST(tokens) {
  CHECK_STR(tokens(""), "");
  CHECK_STR(tokens(" \t\r\n # only\n#"), "");
  CHECK_STR(tokens("%x = f32[N,3]"),
            "1punct:%\n1name:x\n1 punct:=\n1 name:f32\n1punct:[\n1name:N\n1punct:,\n1int:3\n1punct:]\n");
  CHECK_STR(tokens("a//b # c\n->"), "1name:a\n1punct://\n1name:b\n2 punct:->\n");
  CHECK_STR(tokens("<=>===!=!<"), "1punct:<=\n1punct:>=\n1punct:==\n1punct:!=\n1punct:!\n1punct:<\n");
  CHECK_STR(tokens("_a.b9 x.y"), "1name:_a.b9\n1 name:x.y\n");
  CHECK_STR(tokens("a\n\nb"), "1name:a\n3 name:b\n");
}

TEST(numbers) {
  CHECK_STR(tokens("0 007 9223372036854775807"), "1int:0\n1 int:7\n1 int:9223372036854775807\n");
  CHECK_STR(tokens("9223372036854775808"), "1bad:an integer out of range\n");
  CHECK_STR(tokens("1.5 2. 1e3 2.5E-1"), "1float:1.5\n1 float:2.0\n1 float:1000.0\n1 float:0.25\n");
  CHECK_STR(tokens("1e999"), "1bad:a number out of range\n");
  CHECK_STR(tokens("-3"), "1punct:-\n1int:3\n");
  CHECK_STR(tokens("12ab 1e 1.2.3"),
            "1bad:a number that runs into a name\n1 bad:a number that runs into a name\n"
            "1 bad:a number that runs into a name\n");
}

TEST(strings) {
  CHECK_STR(tokens("\"a b\" \"\""), "1string:a b\n1 string:\n");
  CHECK_STR(tokens("\"\\\"\\\\\\n\\t\\x41\""), "1string:\"\\\n\tA\n");
  CHECK_STR(tokens("\"open"), "1bad:a string without end\n");
  CHECK_STR(tokens("\"open\nx"), "1bad:a string without end\n2 name:x\n");
  CHECK_STR(tokens("\"open\\"), "1bad:a string without end\n");
  CHECK_STR(tokens("\"open\\\""), "1bad:a string without end\n");
  CHECK_STR(tokens("\"a\\\nb"), "1bad:a string without end\n2 name:b\n");
  CHECK_STR(tokens("\"\\q\" x"), "1bad:a string with an unknown escape\n1 name:x\n");
  CHECK_STR(tokens("\"\\x4\" x"), "1bad:a string with an unknown escape\n1 name:x\n");
}

TEST(bad_bytes) {
  CHECK_STR(tokens("a\x01$\xff"), "1name:a\n1bad:byte 0x01\n1bad:byte 0x24\n1bad:byte 0xff\n");
  CHECK_STR(tokens("."), "1bad:byte 0x2e\n");
}

static tn_status quote_round_trip(tn_ctx *ctx, void *arg) {
  (void)arg;
  char all[256];
  for (int i = 0; i < 256; i++) all[i] = (char)i;
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_quote(&t, (tn_str){all, 256});
  tn_scan s;
  tn_scan_init(&s, ctx, (tn_str){t.ptr, t.len});
  CHECK(s.tok.kind == TN_TOK_STRING && tn_str_eq(s.tok.text, (tn_str){all, 256}));
  CHECK(s.tok.text.ptr == tn_ctx_name(ctx, (tn_str){all, 256}));
  return TN_OK;
}

TEST(quote_reads_back) {
  char diag[100];
  CHECK_EQ_I(with_ctx(quote_round_trip, NULL, diag, sizeof diag), TN_OK);
}

static tn_status take_and_need(tn_ctx *ctx, void *arg) {
  tn_scan s;
  tn_scan_init(&s, ctx, tn_str_of(arg));
  CHECK(tn_scan_at(&s, "graph") && !tn_scan_at(&s, "grap"));
  CHECK(tn_scan_take(&s, "graph") && !tn_scan_take(&s, "graph"));
  TN_TRY(tn_scan_need(&s, "@"));
  return tn_scan_need(&s, "main");
}

TEST(need) {
  char diag[300];
  char good[] = "graph @main", bad[] = "graph @\n\"m\"", end[] = "graph @", broken[] = "graph \"x";
  CHECK_EQ_I(with_ctx(take_and_need, good, diag, sizeof diag), TN_OK);
  CHECK_EQ_I(with_ctx(take_and_need, bad, diag, sizeof diag), TN_INVALID);
  CHECK_STR(diag, "line 2: expected 'main', found \"m\"");
  CHECK_EQ_I(with_ctx(take_and_need, end, diag, sizeof diag), TN_INVALID);
  CHECK_STR(diag, "line 1: expected 'main', found the end");
  CHECK_EQ_I(with_ctx(take_and_need, broken, diag, sizeof diag), TN_INVALID);
  CHECK_STR(diag, "line 1: expected '@', found a string without end");
}

static tn_status read_ints(tn_ctx *ctx, void *arg) {
  (void)arg;
  tn_scan s;
  int64_t v;
  tn_scan_init(&s, ctx, tn_str_of("5 -7 -9223372036854775808, -19223372036854775808"));
  TN_TRY(tn_scan_need_int(&s, &v));
  CHECK_EQ_I(v, 5);
  TN_TRY(tn_scan_need_int(&s, &v));
  CHECK_EQ_I(v, -7);
  TN_TRY(tn_scan_need_int(&s, &v));
  CHECK_EQ_I(v, INT64_MIN);
  TN_TRY(tn_scan_need(&s, ","));
  return tn_scan_need_int(&s, &v);
}

TEST(need_int) {
  char diag[300];
  CHECK_EQ_I(with_ctx(read_ints, NULL, diag, sizeof diag), TN_INVALID);
  CHECK_STR(diag, "line 1: expected an integer, found an integer out of range");
}
