"""Symbols, demands and bodies: what inference makes of inputs, how demands are kept, and what a run says of them."""
import os
import sys
import tempfile

from _infer import graph, infer, main, refused, tenon


def run(text, *inputs, status=0):
    return tenon("run", *[word for each in inputs for word in ("--input", each)], text=text, status=status)


def test_open_dims_get_symbols():
    facts = infer("x: f32[3,?]; y: f32[?,5]; z: f32[?,?]", "%o = relu(%x)")
    assert (facts["x"], facts["y"], facts["z"]) == ("[3, x_d1]", "[y_d0, 5]", "[z_d0, z_d1]")
    assert facts.all["symbols"]["x_d1"] == {"min": 0, "max": None, "multiple_of": 1, "from": "dim 1 of input 'x'"}


def test_only_equal_names_are_one_symbol():
    facts = infer("x: f32[?]; y: f32[?]; a: f32[N]; b: f32[N]", "%p = add(%a, %b)\n%o = add(%x, %y)")
    assert facts["o"] == "[bcast(x_d0, y_d0)]" and facts["p"] == "[N]"
    assert facts.checks == {"x_d0 == 1 or x_d0 == y_d0 or y_d0 == 1"}


def test_a_size_of_nothing_is_ordinary():
    facts = infer("x: f32[0,N]", "%o = relu(%x)")
    assert facts["o"] == "[0, N]" and list(facts.all["symbols"]) == ["N"]
    text = graph("x: f32[N,3]", "%o = relu(%x)")
    assert "f32[0,3]" in run(text, "x=random:0x3")[0]
    assert "f32[2,3]" in run(text, "x=random:2x3")[0]


def test_unknown_rank_serves_every_rank():
    text = graph("x: f32[*]", "%o = relu(%x)")
    assert "f32[2,3,4,4]" in run(text, "x=random:2x3x4x4")[0]
    assert "f32[3,4,5]" in run(text, "x=random:3x4x5")[0]


def test_of_two_equal_ranks_one_or_both_may_be_unknown():
    for op, y in ("conv", "f32[1,2,3,3]"), ("conv_transpose", "f32[1,2,7,7]"):
        for x, w in ("1,2,5,5", "*"), ("*", "2,2,3,3"), ("*", "*"):
            text = graph("x: f32[%s]; w: f32[%s]" % (x, w), "%%o = %s(%%x, %%w)" % op)
            assert y in run(text, "x=random:1x2x5x5", "w=random:2x2x3x3")[0]
            assert "rank" in run(text, "x=random:1x2x5x5", "w=random:2x2x3", status=5)[1]


def test_inputs_of_another_form_are_refused():
    text = graph("x: f32[N,3]; y: f32[N,3]", "%o = add(%x, %y)")
    assert "rank 3, expected 2" in run(text, "x=random:2x3x1", "y=random:2x3", status=5)[1]
    assert "not given" in run(text, "x=random:2x3", status=3)[1]
    assert "dim 1" in run(text, "x=random:2x4", "y=random:2x4", status=5)[1]


def test_no_demand_of_constants():
    assert infer("x: f32[2,3]; y: f32[1,3]", "%o = add(%x, %y)").checks == set()


def test_a_demand_is_kept_once():
    facts = infer("x: f32[S,4]; y: f32[T,4]", "%a = add(%x, %y)\n%b = mul(%x, %y)\n%o = add(%a, %b)")
    assert facts.checks == {"S == 1 or S == T or T == 1"}


def test_what_follows_from_a_demand_is_not_kept():
    facts = infer("x: f32[M,S]; y: f32[T,N]", "%a = matmul(%x, %y)\n%z = transpose(%y)\n%b = add(%x, $f1)\n"
                  "%c = transpose(%b)\n%d = reduce_sum(%c, $[1]) {keepdims = 0}\n"
                  "%e = reduce_sum(%z, $[0]) {keepdims = 0}\n%o = add(%d, %e)")
    assert facts.checks == {"S == T"}, facts.checks


def test_a_broken_demand_is_said_and_the_next_run_is_well():
    text = graph("x: f32[M,K]; y: f32[L,N]", '%o = matmul(%x, %y) at "product" "MatMul"')
    said = run(text, "x=random:2x3", "y=random:4x5", status=5)[1]
    assert "product" in said and "3" in said and "4" in said and "K=3, L=4" in said, said
    assert "f32[2,5]" in run(text, "x=random:2x3", "y=random:3x5")[0]


def test_one_program_for_all_sizes():
    text = graph("x: f32[a,b]; y: f32[b,c]", "%o = matmul(%x, %y)")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "p.tnp")
        tenon("compile", "-o", program, text=text)
        for a, b, c in (2, 3, 5), (3, 4, 7), (5, 4, 7), (1, 1, 1), (0, 4, 7):
            out = tenon("run", program, "--input", "x=random:%dx%d" % (a, b), "--input", "y=random:%dx%d" % (b, c))[0]
            assert "f32[%d,%d]" % (a, c) in out, out


def test_an_unknown_operator_stops_nothing():
    facts = infer("x: f32[N,3]", "%a = opaque(%x)\n%b = relu(%a)\n%c = relu(%x)\n%o = add(%b, %c)")
    assert facts["a"] is None and facts["b"] is None and facts["o"] is None and facts["c"] == "[N, 3]"


def test_an_unknown_operator_with_a_declared_result():
    facts = infer("x: f32[N,3]", "%a = opaque(%x) : f32[2,N]\n%b = transpose(%a)\n%o = matmul(%a, %x)")
    assert facts["b"] == "[N, 2]" and facts["o"] == "[2, 3]"


def test_inference_is_repeatable():
    text = graph("x: f32[N,H,4]; i: i64[2]", "%a = reshape(%x, $[0, -1])\n%b = reshape(%a, %i)\n%c = non_zero(%b)\n"
                 "%t = transpose(%c)\n%o = gather_nd(%b, %t)")
    once = tenon("opt", "--pass=infer", text=text)[0]
    assert tenon("opt", "--pass=infer", text=once)[0] == once
    assert tenon("infer", "--json", text=text) == tenon("infer", "--json", text=text)


IF = """%%p = if(%%c) region () {
%%a = concat(%%x, %%x) {axis = 0}
yield (%%a)
} region () {
%%b = %s
yield (%%b)
}"""


def test_branches_are_joined_dim_by_dim():
    facts = infer("x: f32[N,4]; c: bool[]", IF % "relu(%x)")
    assert facts["p"] == "[p_d0, 4]" and facts.all["symbols"]["p_d0"]["at_most"] == "2*N"
    facts = infer("x: f32[3,4]; c: bool[]", IF % "relu(%x)")
    symbol = facts.all["symbols"]["p_d0"]
    assert facts["p"] == "[p_d0, 4]" and (symbol["min"], symbol["max"]) == (3, 6), symbol
    flat = infer("x: f32[3,4]; c: bool[]", IF % "flatten(%x) {axis = 0}")
    assert flat["p"] == "[p_d0, p_d1]"


def test_a_condition_that_sizes_decide_chooses():
    size = "%n = size(%x)\n%c = less(%n, $10)\n"
    assert infer("x: f32[N,4]", size + IF % "relu(%x)")["p"] == "[select(N <= 2, 2*N, N), 4]"
    assert infer("x: f32[2,4]", size + IF % "relu(%x)")["p"] == "[4, 4]"
    assert infer("x: f32[3,4]", size + IF % "relu(%x)")["p"] == "[3, 4]"


def test_facts_in_a_loop_widen():
    """The state doubles in every round: what NonZero gives of it is not bounded by the first round's size."""
    facts = infer("x: f32[4]; n: i64[]; c: bool[]", """%y, %z = loop(%n, %c, %x) region (%i: i64[], %g: bool[], %s: ?) {
%t = concat(%s, %s) {axis = 0}
%f = non_zero(%t)
%w = shape(%f)
yield (%g, %t, %w)
}""")
    found = facts.all["symbols"][facts.all["values"]["f"]["shape"][1]]
    assert found["max"] is None and found["at_most"] == "2*%s" % facts.all["values"]["s"]["shape"][0], found


def test_rounds_that_add_the_same():
    """What a body adds in each round times the rounds, when the condition is only handed on; else at most that many."""
    body = """%%y, %%z = loop(%%r, %%c, %%x) region (%%i: i64[], %%g: bool[], %%s: ?) {
%%t = concat(%%s, %%x) {axis = 0}
%%q = reduce_sum(%%t) {keepdims = 0}
%%h = %s
yield (%%h, %%t, %%x)
}"""
    rounds = "%n = shape(%w)\n%r = squeeze(%n)\n%c = greater($2, $1)\n"
    facts = infer("x: f32[N,2]; w: f32[M]", rounds + body % "identity(%g)")
    assert (facts["y"], facts["z"]) == ("[N + N*M, 2]", "[M, N, 2]"), (facts["y"], facts["z"])
    facts = infer("x: f32[N,2]; w: f32[M]", rounds + body % "less(%i, $3)")
    assert (facts["y"], facts["z"]) == ("[N + N*min(4, M), 2]", "[min(4, M), N, 2]"), (facts["y"], facts["z"])
    facts = infer("x: f32[N,2]; w: f32[M]", rounds + body % "less(%q, $f3.0)")
    length = facts.all["symbols"][facts.all["values"]["z"]["shape"][0]]
    assert length["at_most"] == "M" and facts["y"] != "[N + N*M, 2]", facts.all
    facts = infer("x: f32[N,2]; w: f32[M]", """%y = scan(%x, %w) {num_scan_inputs = 1} region (%s: ?, %e: ?) {
%t = concat(%s, $f[[0.5, 0.5]]) {axis = 0}
yield (%t)
}""".replace("$f[[0.5, 0.5]]", "%x"))
    assert facts["y"] == "[N + N*M, 2]", facts["y"]
    facts = infer("x: f32[N,2]; w: f32[M]", """%y = scan(%x, %w) {num_scan_inputs = 1} region (%s: ?, %e: ?) {
%t = concat(%s, %s) {axis = 0}
yield (%t)
}""")
    assert facts["y"] == "[y_d0, 2]", facts["y"]


def test_items_that_a_loop_inserts():
    """The items of a carried sequence are those that came in and those that rounds insert; none came in with an empty one."""
    body = """%%o = loop($3, $true, %%s) region (%%i: i64[], %%g: bool[], %%p: ?) {
%%t = concat(%%x, %%%s) {axis = 0}
%%q = sequence_insert(%%p, %%t)
yield (%%g, %%q)
}
%%y = sequence_at(%%o, $0)""".replace("$true", "%%c")
    facts = infer("x: f32[N,2]; c: bool[]", "%s = sequence_empty()\n" + body % "x")
    assert facts.all["values"]["o"]["type"] == "seq(f32[2*N,2])" and facts["y"] == "[2*N, 2]", facts["y"]
    facts = infer("x: f32[N,2]; c: bool[]", "%s = sequence_construct(%x)\n" + body % "x")
    assert facts.all["values"]["o"]["type"] == "seq(f32[?,2])" and facts["y"] == "[y_d0, 2]", facts["y"]
    grown = (body % "x").replace("%t = concat(%x, %x)", "%f = non_zero(%x)\n%t = concat(%f, %f)")
    facts = infer("x: f32[N,2]; c: bool[]", "%s = sequence_empty() {dtype = i64}\n" + grown)  # what differs from round to round stays inside
    assert facts.all["values"]["o"]["type"] == "seq(i64[4,?])", facts.all["values"]["o"]


def test_rounds_that_a_counter_ends():
    """A while loop: no number of rounds is given, a carried counter is compared."""
    loop = """%%c = less($0, %%m)
%%k, %%y = loop(_, %%c, $0) region (%%i: i64[], %%g: bool[], %%s: ?) {
%%t = add(%%s, $%d)
%%h = %s
yield (%%h, %%t, %%x)
}
%%u = unsqueeze(%%k, $[0])
%%o = constant_of_shape(%%u)"""
    size = "%n = shape(%w)\n%m = squeeze(%n)\n"
    for step, condition, rounds, last in (1, "less(%t, %m)", "M", "M"), (3, "less(%t, %m)", "(M + 2)//3", "3*((M + 2)//3)"), (
            1, "greater_or_equal(%m, %t)", "select(1 <= M, M + 1, 0)", "select(1 <= M, M + 1, 0)"):
        facts = infer("x: f32[2]; w: f32[M]", size + loop % (step, condition))
        assert (facts["y"], facts["o"]) == ("[%s, 2]" % rounds, "[%s]" % last), (condition, facts["y"], facts["o"])
    facts = infer("x: f32[2]; w: f32[M]", size + loop % (1, "greater(%t, %m)"))  # counts away from what would end it
    assert facts["y"] == "[y_d0, 2]", facts["y"]


def test_few_rounds_are_followed():
    loop = """%%y, %%z = loop($3, _, %%x, %%w) region (%%i: i64[], %%g: bool[], %%s: ?, %%v: ?) {
%%t = %s
yield (%%g, %%t, %s)
}"""
    for body, third, y, z in ("concat(%s, %s) {axis = 0}", "%v", "[8*N]", "[M]"), ("slice(%s, $[1], $[100000])", "%v", None, "[M]"), (
            "identity(%v)", "%s", "[M]", "[N]"), ("concat(%s, %v) {axis = 0}", "%s", "[3*N + 2*M]", "[2*N + M]"):
        facts = infer("x: f32[N]; w: f32[M]", loop % (body, third))
        assert facts["z"] == z and y in (None, facts["y"]), (body, facts["y"], facts["z"])


def test_items_of_sequences():
    made = "%s = sequence_construct(%x, %w)\n"
    for body, y in ("%q = sequence_insert(%s, %w, $0)\n%t = sequence_erase(%q, $-1)", "[N + 2*M - M, 2]"), (
            "%q = sequence_insert(%s, %w)\n%t = sequence_erase(%q, $0)", "[2*M, 2]"), ("%t = sequence_erase(%s)", "[N, 2]"):
        facts = infer("x: f32[N,2]; w: f32[M,2]", made + body + "\n%y = concat_from_sequence(%t) {axis = 0}")
        assert facts["y"] == y.replace("N + 2*M - M", "N + M"), (body, facts["y"])
    facts = infer("x: f32[N,2]", """%s = split_to_sequence(%x)
%m = sequence_map(%s) region (%e: ?) {
%d = concat(%e, %e) {axis = 1}
yield (%d)
}
%y = concat_from_sequence(%m) {axis = 0}
%z = concat_from_sequence(%m) {axis = 0, new_axis = 1}
%n = sequence_length(%m)
%k = unsqueeze(%n, $[0])
%o = constant_of_shape(%k)""")
    assert (facts["y"], facts["z"], facts["o"]) == ("[N, 4]", "[N, 1, 4]", "[N]"), facts.all["values"]


def test_items_that_rounds_put_in():
    body = """%%n = shape(%%w)
%%r = squeeze(%%n)
%%e = %s
%%s = loop(%%r, _, %%e) region (%%i: i64[], %%g: bool[], %%l: ?) {
%%a = gather(%%x, %%i)
%%q = sequence_insert(%%l, %%a)%s
yield (%%g, %%q)
}
%%y = concat_from_sequence(%%s) {axis = 0, new_axis = 1}
%%z = concat_from_sequence(%%s) {axis = 0}"""
    twice = "\n%p = sequence_insert(%q, %a, $0)"
    for first, more, y, z in ("sequence_empty()", "", "[M, C]", "[C*M]"), ("sequence_empty()", twice, "[2*M, C]", "[2*C*M]"), (
            "sequence_construct(%b)", "", "[M + 1, z_d0]", "[D + C*M]"):
        text = body % (first, more)
        facts = infer("x: f32[N,C]; w: f32[M]; b: f32[D]", text.replace("yield (%g, %q)", "yield (%g, %p)") if more else text)
        assert facts["z"] == z and (facts["y"] == y or first != "sequence_empty()"), (first, facts["y"], facts["z"])


def test_items_of_a_split():
    split = "%s = split_to_sequence(%x, $3) {axis = 1}\n"
    for at, size, check in ("$0", "min(3, N)", {"1 <= N"}), ("$2", "min(3, N - 6)", {"7 <= N"}), (
            "$-1", "(N + 2) % 3 + 1", {"1 <= N"}):
        facts = infer("x: f32[B,N]", split + "%%y = sequence_at(%%s, %s)" % at)
        assert facts["y"] == "[B, %s]" % size and facts.checks == check, (at, facts["y"], facts.checks)
    facts = infer("x: f32[B,N]", "%s = split_to_sequence(%x, $[2, 5]) {axis = 1}\n%y = sequence_at(%s, $-1)")
    assert facts["y"] == "[B, 5]"
    refused("x: f32[B,N]", "%s = split_to_sequence(%x, $[2, 5]) {axis = 1}\n%y = sequence_at(%s, $2)", "position 2")


def test_a_branch_is_entered_where_its_condition_holds():
    facts = infer("x: f32[B,N]", """%n = shape(%x) {start = 1}
%m = squeeze(%n)
%c = equal(%m, $1)
%y = if(%c) region () {
%p = squeeze(%x, $[1])
yield (%p)
} region () {
%q = identity(%x)
yield (%q)
}""")
    assert facts["p"] == "[B]" and facts.checks == set(), facts.checks


def test_data_decides_within_bounds():
    facts = infer("x: f32[N,H]", "%i = non_zero(%x)\n%t = transpose(%i)\n%o = gather_nd(%x, %t)")
    symbol = facts.all["values"]["i"]["shape"][1]
    assert facts["o"] == "[%s]" % symbol and facts.all["symbols"][symbol]["at_most"] == "N*H"
    assert "non_zero" in facts.all["symbols"][symbol]["from"]


def test_what_data_decides_is_cut():
    """The operators behind NonZero are one dynamic part, what the inputs' sizes decide is another; alone it is the only
    part."""
    text = graph("x: f32[N,4]; w: f32[M,8]", '%i = non_zero(%x) at "find"\n%t = transpose(%i) at "turn"\n'
                 '%g = gather_nd(%x, %t) at "take"\n%y = abs(%g) at "abs"\n%z = relu(%w) at "relu"')
    out = tenon("split", "--nodes", "--min-static-ops", "1", text=text.replace("(%z: ?)", "(%y: ?, %z: ?)"))[0]
    assert "5 nodes in 2 parts" in out and "nodes find turn take abs\n" in out and "nodes relu\n" in out, out
    assert "1 node in 1 part" in tenon("split", text=graph("w: f32[M,8]", "%z = relu(%w)"))[0]


def test_facts_of_the_user_take_part():
    facts = infer("x: f32[S]", "%o = reshape(%x, $[-1, 8])", assume="S % 8 == 0")
    assert facts["o"] == "[S//8, 8]" and facts.checks == set()
    assert infer("x: f32[S]", "%o = reshape(%x, $[-1, 8])").checks == {"S % 8 == 0"}


if __name__ == "__main__":
    sys.exit(main(globals()))
