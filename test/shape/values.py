"""Elements of small tensors go through every operator that shape arithmetic is made of. `%n` is the shape of an input
[a, b, 3]; what is expected is worked by hand."""
import json
import sys

from _infer import content, graph, infer, main, tenon

SHAPE = "%n = shape(%x)\n"


def expect(body, *elements, inputs="x: f32[a,b,3]", before=SHAPE, assume=None):
    have = content(inputs, before + body, "%v", len(elements), assume)
    assert have == [str(e) for e in elements], "%s: %s, expected %s" % (body, have, elements)


def test_shape_with_start_and_end():
    expect("%v = shape(%x)", "a", "b", 3)
    expect("%v = shape(%x) {start = 1}", "b", 3)
    expect("%v = shape(%x) {start = -2, end = -1}", "b")
    expect("%v = shape(%x) {start = 0, end = 9}", "a", "b", 3)


def test_size():
    expect("%v = size(%x)", "3*a*b")


def test_gather():
    expect("%v = gather(%n, $[2, -3])", 3, "a")
    expect("%m = reshape(%n, $[3, 1])\n%v = gather(%m, $0) {axis = 1}", "a", "b", 3)


def test_gather_nd():
    expect("%i = reshape($[1, 0], $[2, 1])\n%v = gather_nd(%n, %i)", "b", "a")


def test_gather_elements():
    expect("%v = gather_elements(%n, $[1, 2])", "b", 3)


def test_slice():
    expect("%v = slice(%n, $[1], $[3])", "b", 3)
    expect("%v = slice(%n, $[-1], $[-4], $[0], $[-2])", 3, "a")


def test_concat():
    expect("%v = concat(%n, $[7], %n) {axis = 0}", "a", "b", 3, 7, "a", "b", 3)


def test_split():
    expect("%u, %v = split(%n, $[1, 2])", "b", 3)
    expect("%v, %u, %w = split(%n) {num_outputs = 3}", "a")


def test_squeeze_and_unsqueeze():
    expect("%m = unsqueeze(%n, $[0, 2])\n%v = squeeze(%m, $[0, 2])", "a", "b", 3)


def test_reshape_and_transpose():
    expect("%m = concat(%n, %n) {axis = 0}\n%t = reshape(%m, $[2, 3])\n%v = transpose(%t)", "a", "a", "b", "b", 3, 3)


def test_flatten():
    expect("%m = reshape(%n, $[1, 3, 1])\n%v = flatten(%m)", "a", "b", 3)


def test_expand():
    expect("%m = gather(%n, $[1])\n%v = expand(%m, $[2, 2])", "b", "b", "b", "b")


def test_tile():
    expect("%v = tile(%n, $[2])", "a", "b", 3, "a", "b", 3)


def test_pad():
    expect("%v = pad(%n, $[1, 2], $7)", 7, "a", "b", 3, 7, 7)
    expect("%v = pad(%n, $[-1, 1])", "b", 3, 0)
    expect('%v = pad(%n, $[1, 1]) {mode = "edge"}', "a", "a", "b", 3, 3)
    expect('%v = pad(%n, $[1, 1]) {mode = "reflect"}', "b", "a", "b", 3, "b")


def test_range():
    expect("%l = gather(%n, $2)\n%v = range($0, %l, $1)", 0, 1, 2)
    expect("%s = gather(%n, $0)\n%l = add(%s, $6)\n%v = range(%s, %l, $2)", "a", "a + 2", "a + 4")


def test_constant_of_shape():
    expect("%v = constant_of_shape($[2]) {value = dense(i64[1]: 5)}", 5, 5)
    expect("%k = gather(%n, $[2])\n%v = constant_of_shape(%k) {value = dense(i64[1]: 5)}", 5, 5, 5)


def test_cast_of_ends():
    """-2^63 + 1 is -2^63 as a float."""
    for to in ("f32", "f64"):
        text = graph("x: f32[a,b,3]", SHAPE + "%c = equal(%n, $[4, 4, 4])\n%e = where(%c, $[-9223372036854775807], %n)\n%v = cast(%e) {to = " + to + "}")
        values = json.loads(tenon("infer", "--json", "--elements", text=text)[0])["values"]
        assert values["e"]["elements"] == ["select(a == 4, -9223372036854775807, a)", "select(b == 4, -9223372036854775807, b)", 3]
        assert values["v"]["elements"] == [None, None, {"float": 3}], values["v"]


def test_where():
    expect("%c = less($[1, 5, 2], $[3, 3, 3])\n%v = where(%c, %n, $[7, 8, 9])", "a", 8, 3)
    expect("%c = equal(%n, $[4, 4, 4])\n%v = where(%c, $1, %n)", "select(a == 4, 1, a)", "select(b == 4, 1, b)", 3)


def test_comparisons():
    one = "%%c = %s(%%n, $[3, 3, 3])\n%%v = cast(%%c) {to = i64}"
    expect(one % "equal", "a == 3", "b == 3", 1)
    expect(one % "less", "a <= 2", "b <= 2", 0)
    expect(one % "less_or_equal", "a <= 3", "b <= 3", 1)
    expect(one % "greater", "4 <= a", "4 <= b", 0)
    expect(one % "greater_or_equal", "3 <= a", "3 <= b", 1)


def test_logic():
    head = "%c = less(%n, $[3, 3, 3])\n%d = less($[1, 2, 9], $[2, 2, 2])\n"
    expect(head + "%r = and(%c, %d)\n%v = cast(%r) {to = i64}", "a <= 2", 0, 0)
    expect(head + "%r = or(%c, %d)\n%v = cast(%r) {to = i64}", 1, "b <= 2", 0)
    expect(head + "%r = not(%c)\n%v = cast(%r) {to = i64}", "3 <= a", "3 <= b", 1)
    expect(head + "%r = xor(%c, %d)\n%v = cast(%r) {to = i64}", "3 <= a", "b <= 2", 0)


def test_cast():
    expect("%f = cast(%n) {to = f32}\n%v = cast(%f) {to = i64}", "a", "b", 3, assume="a <= 1000, b <= 1000")
    expect("%f = cast(%n) {to = i32}\n%v = cast(%f) {to = i64}", "a", "b", 3, assume="a <= 1000, b <= 1000")
    expect("%f = cast(%n) {to = bool}\n%v = cast(%f) {to = i64}", 1, 1, 1, assume="1 <= a, 1 <= b")


def test_arithmetic():
    expect("%v = add(%n, $[1, 2, 3])", "a + 1", "b + 2", 6)
    expect("%m = add(%n, %n)\n%v = sub(%m, %n)", "a", "b", 3)
    expect("%v = mul(%n, %n)", "a*a", "b*b", 9)
    expect("%v = div(%n, $2)", "a//2", "b//2", 1)
    expect("%v = mod(%n, $2)", "a % 2", "b % 2", 1)
    expect("%v = mod(%n, $2) {fmod = 1}", "a % 2", "b % 2", 1)
    expect("%f = cast(%n) {to = f32}\n%m = mod(%f, $f2.0) {fmod = 1}\n%v = cast(%m) {to = i64}", "a % 2", "b % 2", 1,
           assume="a <= 1000, b <= 1000")
    expect("%m = neg(%n)\n%v = abs(%m)", "a", "b", 3)
    expect("%m = neg(%n)\n%v = neg(%m)", "a", "b", 3)
    expect("%v = min(%n, $[2, 9, 9])", "min(2, a)", "min(9, b)", 3)
    expect("%v = max(%n, $[2, 9, 9])", "max(2, a)", "max(9, b)", 9)
    expect("%m = add(%n, %n)\n%v = add(%m, %n)", "3*a", "3*b", 9)
    expect("%v = clip(%n, $1, $8)", "min(8, max(1, a))", "min(8, max(1, b))", 3)
    expect("%v = pow(%n, $2)", "a*a", "b*b", 9)
    expect("%v = sign(%n)", 1, 1, 1, assume="1 <= a, 1 <= b")
    expect("%v = relu(%n)", "a", "b", 3)


def test_division_by_a_size_demands_that_it_is_not_0():
    for op in "div", "mod":
        facts = infer("x: f32[a]; y: f32[b]", "%%n = shape(%%x)\n%%m = shape(%%y)\n%%q = %s(%%n, %%m)\n"
                      "%%o = constant_of_shape(%%q)" % op)
        assert (facts["o"], facts.checks) == ("[a%sb]" % {"div": "//", "mod": " % "}[op], {"1 <= b"}), (facts["o"], facts.checks)
    facts = infer("x: f32[a]", "%n = shape(%x)\n%d = cast(%n) {to = f64}\n%k = const() {value = dense(f64[1]: 0.75)}\n"
                  "%m = mul(%d, %k)\n%i = cast(%m) {to = i64}\n%o = constant_of_shape(%i)")
    assert (facts["o"], facts.checks) == ("[3*a//4]", set()), (facts["o"], facts.checks)


def test_division_towards_zero():
    """ONNX divides integers towards 0: -7 by 2 is -3."""
    expect("%m = sub($[-7, 7, 0], $[0, 0, 0])\n%d = div(%m, $2)\n%v = add(%d, $10)", 7, 13, 10, before="", inputs="")
    expect("%m = neg(%n)\n%d = div(%m, $2)\n%v = neg(%d)", "a//2", "b//2", 1)


def test_division_by_what_checks_make_positive():
    """Images in a batch of windows, a window of 4 having fitted before: batch and windows give the batch again."""
    before = """%y = max_pool(%x) {kernel_shape = [4, 4], strides = [4, 4]}
%n = shape(%y)
%h = gather(%n, $2)
%w = gather(%n, $3)
%b = gather(%n, $0)
%k = mul(%h, %w)
%m = mul(%b, %k)
"""
    inputs = "x: f32[a,3,b,c]"
    expect("%v = div(%m, %k)", "a", inputs=inputs, before=before)
    expect("%v = mod(%w, %h)", "(c//4) % (b//4)", inputs=inputs, before=before)
    expect("%p = sub(%h, $1)\n%v = div(%p, $2)", "(b + 4)//8 - 1", inputs=inputs, before=before)  # not negative: rounded down
    facts = infer(inputs, before + "%v = div(%k, %b)")  # nothing says that there is an image
    assert "elements" not in facts.all["values"]["v"], facts.all["values"]["v"]


def test_floats():
    facts = "a <= 1000, b <= 1000"
    head = "%f = cast(%n) {to = f32}\n"
    tail = "\n%v = cast(%q) {to = i64}"
    expect(head + "%d = div(%f, $f4)\n%q = ceil(%d)" + tail, "(a + 3)//4", "(b + 3)//4", 1, assume=facts)
    expect(head + "%d = div(%f, $f4)\n%q = floor(%d)" + tail, "a//4", "b//4", 0, assume=facts)
    expect(head + "%q = mul(%f, $f0.5)" + tail, "a//2", "b//2", 1, assume=facts)
    expect(head + "%m = mul(%f, $f2)\n%q = add(%m, $f1)" + tail, "2*a + 1", "2*b + 1", 7, assume=facts)
    expect(head + "%q = sub(%f, %f)" + tail, 0, 0, 0, assume=facts)
    expect(head + "%m = neg(%f)\n%q = abs(%m)" + tail, "a", "b", 3, assume=facts)
    expect(head + "%q = max(%f, $f8)" + tail, "max(8, a)", "max(8, b)", 8, assume=facts)
    expect(head + "%q = min(%f, $f8)" + tail, "min(8, a)", "min(8, b)", 3, assume=facts)


def test_functions_of_constants():
    one = "%%q = %s\n%%v = cast(%%q) {to = i64}"
    expect(one % "sqrt($f[9, 16, 2])", 3, 4, 1, before="", inputs="")
    expect(one % "round($f[0.5, 1.5, 2.4])", 0, 2, 2, before="", inputs="")
    expect(one % "pow($f[2, 3], $f[3, 2])", 8, 9, before="", inputs="")
    expect(one % "floor($f[2.7, 3.0])", 2, 3, before="", inputs="")
    expect(one % "ceil($f[2.2, 3.0])", 3, 3, before="", inputs="")


def test_sqrt_of_a_shape():
    """A constant below the root is known: windows of Swin are reshaped so."""
    expect("%l = gather(%n, $[2])\n%p = mul(%l, $3)\n%f = cast(%p) {to = f32}\n%s = sqrt(%f)\n%v = cast(%s) {to = i64}", 3)


def test_reductions():
    for keep in 0, 1:
        one = "%%v = reduce_%s(%%n, $[0]) {keepdims = %d}"
        expect(one % ("prod", keep), "3*a*b")
        expect(one % ("sum", keep), "a + b + 3")
        expect(one % ("max", keep), "max(3, a, b)")
        expect(one % ("min", keep), "min(3, a, b)")
    expect("%m = reshape($[1, 2, 3, 4, 5, 6], $[2, 3])\n%v = reduce_sum(%m, $[1]) {keepdims = 0}", 6, 15)
    expect("%m = reshape($[1, 2, 3, 4, 5, 6], $[2, 3])\n%v = reduce_max(%m)", 6)
    expect("%v = reduce_mean($[2, 4, 6], $[0])", 4)
    expect("%v = reduce_l1($[2, 4, 6], $[0])", 12)
    expect("%v = reduce_sum_square($[1, 2, 3], $[0])", 14)


def test_cumsum():
    expect("%v = cumsum(%n, $0)", "a", "a + b", "a + b + 3")
    expect("%v = cumsum(%n, $0) {exclusive = 1}", 0, "a", "a + b")
    expect("%v = cumsum(%n, $0) {reverse = 1}", "a + b + 3", "b + 3", 3)


def test_scatter():
    expect("%i = reshape($[1], $[1, 1])\n%v = scatter_nd(%n, %i, $[7])", "a", 7, 3)
    expect("%s = gather(%n, $[0])\n%v = scatter_elements(%n, $[2], %s)", "a", "b", "a")


def test_non_zero_of_known():
    expect("%v = non_zero($[0, 4, 0, 5])", 1, 3)
    expect("%m = reshape($[0, 1, 1, 0], $[2, 2])\n%v = non_zero(%m)", 0, 1, 1, 0)


def test_top_k_of_known():
    expect("%v, %i = top_k($[3, 9, 5], $[2])", 9, 5)
    expect("%w, %v = top_k($[3, 9, 5], $[2]) {largest = 0}", 0, 2)


def test_arg_of_known():
    expect("%v = argmax($[3, 9, 5])", 1)
    expect("%v = argmin($[3, 9, 5])", 0)


def test_compress_and_unique_of_known():
    expect("%c = less($[1, 5, 2], $[3, 3, 3])\n%v = compress(%n, %c)", "a", 3)
    expect("%v, %i, %j, %k = unique($[4, 2, 4])", 2, 4)


def test_one_hot_of_known():
    expect("%v = one_hot($[1], $3, $[0, 7])", 0, 7, 0)


def test_identity():
    expect("%v = identity(%n)", "a", "b", 3)


def test_branches():
    branch = "%%v = if(%%c) region () {\n%%s = add(%%n, $1)\nyield (%%s)\n} region () {\nyield (%%n)\n}"
    branch = branch.replace("%%", "%")
    expect("%c = less($1, $2)\n" + branch, "a + 1", "b + 1", 4)
    expect("%c = less($2, $1)\n" + branch, "a", "b", 3)
    expect("%r = gather(%n, $2)\n%c = equal(%r, $3)\n" + branch, "a + 1", "b + 1", 4)


def test_elements_of_inputs():
    facts = infer("x: f32[a]; i: i64[2]", "%j = add(%i, $1)\n%k = gather(%j, $[1])\n%o = tile(%x, %k)")
    assert facts["o"] in ("[a*i_e1 + a]", "[a + a*i_e1]"), facts["o"]


def test_long_values_are_known_up_to_1024():
    body = "%%m = range($0, $%d, $1)\n%%v = gather(%%m, $[%d])"
    expect(body % (1024, 1023), 1023)
    assert not content("x: f32[a,b,3]", body % (1025, 1024), "%v", 1)[0].isdigit()


if __name__ == "__main__":
    sys.exit(main(globals()))
