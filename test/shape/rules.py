"""Shapes of one operator at a time on symbolic sizes: the formula, and the demands that stay open. Worked by hand."""
import sys

from _infer import content, infer, main, refused


def expect(inputs, body, checks=(), assume=None, **shapes):
    facts = infer(inputs, body, assume)
    for name, shape in shapes.items():
        assert facts[name] == shape, "%s: %s is %s, expected %s" % (body, name, facts[name], shape)
    assert facts.checks == set(checks), "%s: checks are %s, expected %s" % (body, facts.checks, set(checks))
    return facts


def test_indices_are_int32_or_int64():
    """Bytes are no indices; they look up a table of 256 of their own operator."""
    for kind in ("u8", "i8", "i16", "u32"):
        for op, name in (("gather", "Gather"), ("gather_elements", "GatherElements")):
            refused("x: f32[N,4]; i: %s[N,4]" % kind, '%%o = %s(%%x, %%i) at "pick" "%s"' % (op, name), "'pick' (%s)" % name,
                    "input 1 (indices) is %s, expected i32 or i64" % kind)
    assert infer("t: f32[256]; i: u8[N,4]", "%o = table_lookup(%t, %i)")["o"] == "[N, 4]"
    assert infer("t: i8[M]; i: i8[N]", "%o = table_lookup(%t, %i)").checks == {"M == 256"}
    refused("t: f32[255]; i: u8[N]", '%o = table_lookup(%t, %i) at "table" "QLinearSigmoid"', "'table'", "255")
    refused("t: f32[256]; i: i32[N]", "%o = table_lookup(%t, %i)", "input 1 (codes) is i32")


def test_broadcast_keeps_both_sizes():
    expect("x: f32[a,b,c,d]; y: f32[e,1,f]", "%o = add(%x, %y)", o="[a, bcast(b, e), c, bcast(d, f)]",
           checks=["b == 1 or b == e or e == 1", "d == 1 or d == f or f == 1"])


def test_broadcast_against_constants():
    expect("x: f32[a,b,c,3]; y: f32[d,e,1,f]", "%o = add(%x, %y)", o="[bcast(a, d), bcast(b, e), c, 3]",
           checks=["a == 1 or a == d or d == 1", "b == 1 or b == e or e == 1", "f == 1 or f == 3"])
    expect("x: f32[a,b,3,1]; y: f32[c,1,d,e]", "%o = mul(%x, %y)", o="[bcast(a, c), b, 3, e]",
           checks=["a == 1 or a == c or c == 1", "d == 1 or d == 3"])


def test_broadcast_contradiction_names_node_and_sizes():
    refused("x: f32[N,4]; y: f32[N,3]", '%o = add(%x, %y) at "sum" "Add"', "node 'sum'", "dim 1: 4 with 3")


def test_broadcast_against_a_shape_vector():
    expect("x: i64[s,t,1]; y: f32[a,b,c]", "%n = shape(%y)\n%o = add(%x, %n)", n="[3]", o="[s, t, 3]")


def test_grid_sample_pads_with_elements_that_are_there():
    expect("x: f32[N,3,H,4]; g: f32[N,5,6,2]", "%o = grid_sample(%x, %g)", o="[N, 3, 5, 6]")
    expect("x: f32[N,3,H,4]; g: f32[N,5,6,2]", '%o = grid_sample(%x, %g) {padding_mode = "border"}', o="[N, 3, 5, 6]",
           checks=["N == 0 or 1 <= H"])
    expect("x: f32[N,3,H,4]; g: f32[N,0,6,2]", '%o = grid_sample(%x, %g) {padding_mode = "border"}', o="[N, 3, 0, 6]")
    refused("x: f32[1,3,0,4]; g: f32[1,5,6,2]", '%o = grid_sample(%x, %g) {padding_mode = "reflection"} at "look" "GridSample"',
            "node 'look'", "dim 2 of the input, 0, has no element to pad with")


def test_slices_joined_the_other_way_round():
    """Rolled by three, as windows are shifted: the dim is what it was."""
    roll = "%%a = slice(%%x, %s, $[9223372036854775807])\n%%b = slice(%%x, $[0], %s)\n%%o = concat(%%a, %%b) {axis = 0}"
    expect("x: f32[N]", roll % ("$[3]", "$[3]"), o="[N]", a="[max(0, N - 3)]", b="[min(3, N)]")
    expect("x: f32[N]", roll % ("$[-3]", "$[-3]"), o="[N]", a="[min(3, N)]", b="[max(0, N - 3)]")


def test_slice_of_the_last_ones():
    expect("p: f32[P]; c: f32[S]", "%x = concat(%p, %c) {axis = 0}\n%o = slice(%x, $[-128], $[9223372036854775807])",
           o="[min(128, P + S)]")
    expect("x: f32[T]; c: f32[S]", "%n = shape(%c)\n%m = neg(%n)\n%o = slice(%x, %m, $[9223372036854775807])",
           o="[select(1 <= S, min(T, S), T)]")  # -0 is the first


def test_non_zero_of_a_fill_of_any_size():
    """The old way to count up: ones of a shape, and where they are."""
    expect("x: f32[N,M]", "%n = shape(%x)\n%c = constant_of_shape(%n) {value = dense(i64[1]: 3)}\n%o = non_zero(%c)",
           o="[2, N*M]")
    expect("x: f32[N]", "%n = shape(%x)\n%c = constant_of_shape(%n) {value = dense(i64[1]: 1)}\n%b = cast(%c) {to = bool}\n"
           "%e = unsqueeze(%b, $[0])\n%o = non_zero(%e)", o="[2, N]")
    expect("x: f32[N]", "%n = shape(%x)\n%c = expand($1, %n)\n%o = non_zero(%c)", o="[1, N]")
    expect("x: f32[N]", "%n = shape(%x)\n%c = constant_of_shape(%n)\n%o = non_zero(%c)", o="[1, 0]")
    expect("", "%x = random_normal() {shape = [2, 3]}\n%o = non_zero(%x)", o="[2, o_d1]")
    for value, type_ in ("f32[1]: 0.5", "i64"), ("i64[1]: 256", "u8"):  # which may be 0
        facts = infer("x: f32[N]", "%%n = shape(%%x)\n%%c = constant_of_shape(%%n) {value = dense(%s)}\n"
                      "%%b = cast(%%c) {to = %s}\n%%o = non_zero(%%b)" % (value, type_))
        assert facts["o"] == "[1, o_d1]", facts["o"]


def test_resize_by_scales_of_which_some_are_known():
    facts = infer("x: f32[N,3,H]; s: f32[1]", "%c = concat($f[1.0, 2.0], %s) {axis = 0}\n%o = resize(%x, _, %c)")
    assert facts["o"] == "[N, 6, o_d2]", facts["o"]


def test_stft_of_a_signal_without_parts():
    expect("x: f32[B,T]", "%o = stft(%x, $8, _, $32) {onesided = 1}", o="[B, T//8 - 3, 17, 2]", checks=["32 <= T"])


def test_where_joins_three_shapes():
    expect("c: bool[]; x: f32[a,b]; y: f32[a,b]", "%o = where(%c, %x, %y)", o="[a, b]")
    expect("c: bool[]; x: f32[a,b]; y: f32[c,d]", "%o = where(%c, %x, %y)", o="[bcast(a, c), bcast(b, d)]",
           checks=["a == 1 or a == c or c == 1", "b == 1 or b == d or d == 1"])
    expect("c: bool[p]; x: f32[a,b,p]; y: f32[b,p]", "%o = where(%c, %x, %y)", o="[a, b, p]")


def test_expand_to_a_constant_shape():
    expect("x: f32[s,3,1]", "%o = expand(%x, $[3, 2, 3, 4])", o="[3, 2, 3, 4]", checks=["s == 1 or s == 2"])


def test_matmul_of_matrices():
    expect("x: f32[a,b]; y: f32[c,3]", "%o = matmul(%x, %y)", o="[a, 3]", checks=["b == c"])
    expect("x: f32[a,b]; y: f32[c,a]", "%o = gemm(%x, %y) {transA = 1, transB = 1}", o="[b, c]")


def test_matmul_of_batches():
    expect("x: f32[a,3,b]; y: f32[c,d,e]", "%o = matmul(%x, %y)", o="[bcast(a, c), 3, e]",
           checks=["a == 1 or a == c or c == 1", "b == d"])


def test_matmul_of_many_batch_dims():
    expect("x: f32[a,b,1,c,3,d,e]; y: f32[f,1,g,2,h]", "%o = matmul(%x, %y)", o="[a, b, f, c, 3, d, h]",
           checks=["g == 1 or g == 3", "e == 2"])


def test_matmul_of_vectors():
    expect("x: f32[k]; y: f32[k]", "%o = matmul(%x, %y)", o="[]")
    expect("x: f32[k]; y: f32[k,n]", "%o = matmul(%x, %y)", o="[n]")
    expect("x: f32[b,m,k]; y: f32[j]", "%o = matmul(%x, %y)", o="[b, m]", checks=["k == j"])


def test_einsum_labels_and_ellipsis():
    expect("x: f32[a,b]; y: f32[b,c]", '%o = einsum(%x, %y) {equation = "ab,bc->ac"}', o="[a, c]")
    expect("x: f32[s,a,b]; y: f32[s,b,c]", '%o = einsum(%x, %y) {equation = "...ab,...bc->...ac"}', o="[s, a, c]")
    refused("x: f32[2,3]; y: f32[4,5]", '%o = einsum(%x, %y) {equation = "ab,bc->ac"} at "e" "Einsum"', "'e'", "3", "4")
    refused("x: f32[2,3]", '%o = einsum(%x) {equation = "ab->az"}', "z")
    refused("x: f32[2,3]", '%o = einsum(%x) {equation = "ab,bc->ac"}', "einsum")


def test_reshape_infers_one_size():
    expect("x: f32[a,b,3,c]", "%o = reshape(%x, $[2, -1, 3])", o="[2, a*b*c//2, 3]", checks=["a*b*c % 2 == 0"])
    expect("x: f32[a,b,c]", "%o = reshape(%x, $[1, -1, 3])", o="[1, a*b*c//3, 3]", checks=["a*b*c % 3 == 0"])


def test_reshape_undoes_a_division_that_left_no_rest():
    heads = "%n = shape(%x) {start = 0, end = 2}\n%t = concat(%n, $[8, -1]) {axis = 0}\n%h = reshape(%x, %t)\n"
    expect("x: f32[B,S,D]", heads + "%o = reshape(%h, $[0, 0, -1])", o="[B, S, D]", h="[B, S, 8, D//8]",
           checks=["1 <= B", "1 <= S", "D % 8 == 0"])
    expect("x: f32[N,C,4]", "%g = reshape(%x, $[-1, 4, 6])\n%n = shape(%x) {start = 0, end = 1}\n"
           "%t = concat(%n, $[4, -1]) {axis = 0}\n%o = reshape(%g, %t)", o="[N, 4, C]", g="[N*C//6, 4, 6]",
           checks=["1 <= N", "N*C % 6 == 0"])
    expect("x: f32[N,C,H,W]", "%s = space_to_depth(%x) {blocksize = 2}\n%o = depth_to_space(%s) {blocksize = 2}",
           o="[N, C, H, W]", s="[N, 4*C, H//2, W//2]", checks=["H % 2 == 0", "W % 2 == 0"])
    facts = expect("x: f32[N,H,4]", "%n = shape(%x) {start = 1, end = 2}\n%h = div(%n, $[2])\n%t = mul(%h, $[2])\n"
                   "%o = constant_of_shape(%t)", o="[2*(H//2)]")
    assert not facts.checks


def test_reshape_by_the_shape_of_another():
    expect("x: f32[a,b,3,c]; y: f32[s,2,t]", "%n = shape(%y)\n%o = reshape(%x, %n)", o="[s, 2, t]",
           checks=["3*a*b*c == 2*s*t", "a == 0 or 1 <= s", "1 <= t"])


def test_reshape_knows_that_a_window_fits():
    """A normalisation of groups over a convolution: back to its shape, which no check before lets be -1 or 0."""
    expect("x: f32[a,1,s]; w: f32[8,1,10]", "%y = conv(%x, %w) {strides = [5]}\n%n = shape(%y)\n%z = reshape(%y, $[0, 4, -1])\n"
           "%o = reshape(%z, %n)", z="[a, 4, 2*(s//5) - 2]", o="[a, 8, s//5 - 1]", checks=["1 <= a", "10 <= s"])


def test_reshape_copies_a_size():
    facts = expect("x: f32[a,b,c]", "%o = reshape(%x, $[1, 0, 3])", o="[1, b, 3]", checks=["3*b == a*b*c"])
    assert facts["o"] == "[1, b, 3]"


def test_reshape_refuses_wrong_targets():
    refused("x: f32[a,b]", '%o = reshape(%x, $[-1, -1]) at "r" "Reshape"', "'r'", "-1")
    refused("x: f32[a,b]", '%o = reshape(%x, $[4, 1, 0]) at "r" "Reshape"', "'r'", "0")
    refused("x: f32[a,b]", "%o = reshape(%x, $f[1.1])", "shape")


def test_reshape_by_data_goes_on():
    facts = infer("x: f32[a,b]; n: i64[3]", "%o = reshape(%x, %n)\n%p = abs(%o)")
    assert facts.all["values"]["p"]["shape"] == facts.all["values"]["o"]["shape"], facts["o"]
    assert len(facts.all["values"]["o"]["shape"]) == 3


def test_flatten():
    expect("x: f32[a,b,c]", "%o = flatten(%x) {axis = 1}", o="[a, b*c]")
    expect("x: f32[a,b,c]", "%o = flatten(%x) {axis = -1}", o="[a*b, c]")
    expect("x: f32[a,b,c]", "%o = flatten(%x) {axis = 3}", o="[a*b*c, 1]")
    refused("x: f32[a,b,c]", "%o = flatten(%x) {axis = 4}", "axis 4")


def test_squeeze_of_what_is_one():
    expect("x: f32[a,1,b,1]", "%o = squeeze(%x)", o="[a, b]", assume="2 <= a, 2 <= b")
    expect("x: f32[2,1,3,1]", "%o = squeeze(%x)", o="[2, 3]")
    expect("x: f32[a,1,b]", "%o = squeeze(%x)\n%p = relu(%o)", o=None, p=None)  # its rank depends on a and b


def test_squeeze_of_named_axes():
    expect("x: f32[a,1,b,1]", "%o = squeeze(%x, $[1, 3])", o="[a, b]")
    expect("x: f32[a,1,b,1]", "%o = squeeze(%x, $[-1])", o="[a, 1, b]")
    expect("x: f32[a,1,b]", "%o = squeeze(%x, $[2])", o="[a, 1]", checks=["b == 1"])
    refused("x: f32[a,1,b,2]", '%o = squeeze(%x, $[3]) at "s" "Squeeze"', "'s'", "2")


def test_unsqueeze():
    expect("x: f32[a,b,c]", "%o = unsqueeze(%x, $[1])", o="[a, 1, b, c]")
    expect("x: f32[a,b,c]", "%o = unsqueeze(%x, $[-1])", o="[a, b, c, 1]")
    expect("x: f32[]", "%o = unsqueeze(%x, $[-1])", o="[1]")


def test_transpose():
    expect("x: f32[a,b,c]", "%o = transpose(%x) {perm = [2, 0, 1]}", o="[c, a, b]")
    expect("x: f32[a,b,c]", "%o = transpose(%x)", o="[c, b, a]")
    refused("x: f32[a,b,c]", "%o = transpose(%x) {perm = [1, 0]}", "perm")
    refused("x: f32[a,b,c]", "%o = transpose(%x) {perm = [1, 1, 0]}", "perm")


def test_concat_sums_one_axis():
    expect("x: f32[a,b,3,2]; y: f32[c,3,2,d]; z: f32[e,f,g,h]", "%o = concat(%x, %y, %z) {axis = 2}",
           o="[a, 3, g + 5, 2]", checks=["b == 3", "a == c", "d == 2", "a == e", "f == 3", "h == 2"])
    expect("x: f32[1,a,b,c]; y: f32[1,d,b,c]", "%m = concat(%x, %y) {axis = 1}\n%o = squeeze(%m, $[0])",
           o="[a + d, b, c]")
    refused("x: f32[a,b,c]; y: f32[a,b,c]", "%o = concat(%x, %y) {axis = 3}", "axis 3")


def test_concat_of_contents():
    one = "%e1 = expand($1, $[2, 2, 2])\n%e2 = expand($2, $[2, 3, 2])\n%e3 = expand($3, $[2, 4, 2])\n"
    body = one + "%v = concat(%e1, %e2, %e3) {axis = 1}"
    assert infer("", body)["v"] == "[2, 9, 2]"
    assert content("", body, "%v", 36) == (["1"] * 4 + ["2"] * 6 + ["3"] * 8) * 2
    scalars = "%a = unsqueeze($1, $[0])\n%b = unsqueeze($2, $[0])\n%c = unsqueeze($3, $[0])\n"
    assert content("", scalars + "%v = concat(%a, %b, %c) {axis = 0}", "%v", 3) == ["1", "2", "3"]


def test_stack_of_a_sequence():
    expect("x: f32[a,b]; y: f32[a,b]; z: f32[a,b]",
           "%s = sequence_construct(%x, %y, %z)\n%o = concat_from_sequence(%s) {axis = 2, new_axis = 1}", o="[a, b, 3]")


def test_split_in_equal_parts():
    expect("x: f32[a,b]", "%o, %p = split(%x) {axis = 1, num_outputs = 2}", o="[a, (b + 1)//2]", p="[a, b//2]")
    expect("x: f32[a,b]", "%o, %p = split(%x) {axis = -2, num_outputs = 2}", o="[(a + 1)//2, b]", p="[a//2, b]")
    refused("x: f32[a,b]", "%o, %p = split(%x) {axis = 2, num_outputs = 2}", "axis 2")
    refused("x: f32[a,b]", "%o = split(%x) {axis = 1, num_outputs = 0}", "num_outputs")


def test_split_by_sizes():
    expect("x: f32[a,b]", "%o, %p, %q = split(%x, $[1, 3, 2]) {axis = 1}", o="[a, 1]", p="[a, 3]", q="[a, 2]",
           checks=["b == 6"])
    refused("x: f32[a,4]", '%o, %p = split(%x, $[2, 3]) {axis = 1} at "s" "Split"', "'s'", "5", "4")
    refused("x: f32[a,4]", "%o, %p = split(%x, $[-1, 3]) {axis = 1}", "-1")


def test_slice_from_a_place():
    big = 9223372036854775807
    facts = "2 <= a, 2 <= b"
    expect("x: f32[a,b]", "%%o = slice(%%x, $[1, 2], $[2, %d])" % big, o="[1, b - 2]", assume=facts)
    expect("x: f32[a,b]", "%%o = slice(%%x, $[1, 2], $[%d, %d])" % (big, big), o="[a - 1, b - 2]", assume=facts)
    refused("x: f32[a,b]", "%o = slice(%x, $[1, 2], $[3])", "1 elements")


def test_slice_by_data_is_bounded():
    facts = infer("x: f32[a,b]; i: i64[1]; j: i64[1]", "%o = slice(%x, %i, %j, $[1])")
    shape = facts.all["values"]["o"]["shape"]
    assert shape[0] == "a"
    symbol = facts.all["symbols"].get(shape[1])
    if symbol:
        assert symbol["min"] == 0 and symbol["at_most"] == "b", symbol


def test_slice_clamps():
    """[s0..s4] from 0, 1, 2, 3, 4 to 5: at 4, 2, 5, 3, 6 that is 4, 1, 3, 0, 1. Nothing is demanded."""
    body = "%o = slice(%x, $[0, 1, 2, 3, 4], $[5, 5, 5, 5, 5])"
    expect("x: f32[a,b,c,d,e]", body, o="[min(5, a), max(0, min(5, b) - 1), max(0, min(5, c) - 2), "
           "max(0, min(5, d) - 3), max(0, min(5, e) - 4)]")
    expect("x: f32[4,2,5,3,6]", body, o="[4, 1, 3, 0, 1]")


def test_slice_of_constant_sizes():
    expect("x: f32[3,1,7,4,6]", "%o = slice(%x, $[0,0,0,0,0], $[1,1,6,2,7], $[0,1,2,3,4], $[1,1,2,3,4])",
           o="[1, 1, 3, 1, 2]")
    expect("x: f32[128,128]", "%o = slice(%x, $[0, 0], $[128, 128], $[0, 1], $[7, 7])", o="[19, 19]")
    expect("x: f32[128,128]", "%o = slice(%x, $[0, 0], $[128, 128], $[0, 1], $[3, 3])", o="[43, 43]")


def test_slice_with_steps_and_negative_ends():
    expect("x: f32[s]", "%o = slice(%x, $[9], $[-5], $[0], $[17])", o="[(s + 2)//17]", assume="14 <= s")


def test_slice_of_a_shape():
    parts = "%n = shape(%x)\n%p = reduce_prod(%n, $[0]) {keepdims = 1}\n%s = reduce_sum(%n, $[0]) {keepdims = 1}\n" \
            "%f = slice(%n, $[0], $[1])\n%v = concat(%p, %s, %f, $[3]) {axis = 0}\n"
    assert content("x: f32[a,b]", parts + "%w = slice(%v, $[1], $[4], $[0], $[2])", "%w", 2) == ["a + b", "3"]
    assert content("x: f32[a,b]", parts + "%w = gather(%v, $1)", "%w", 1) == ["a + b"]


def test_slice_of_nothing_named():
    expect("x: f32[5]", "%o = slice(%x, $[], $[], $[])", o="[5]")


NUMBERS = "%%n = range($0, $%d, $1)\n%%x = reshape(%%n, $[%s])\n"


def test_slice_of_contents():
    x = NUMBERS % (24, "4,3,2")
    assert infer("", x + "%v = slice(%x, $[2,1,0], $[4,3,1], $[0,1,2], $[1,2,1])")["v"] == "[2, 1, 1]"
    assert content("", x + "%v = slice(%x, $[2,1,0], $[4,3,1], $[0,1,2], $[1,2,1])", "%v", 2) == ["14", "20"]
    assert content("", x + "%v = slice(%x, $[-2,-2,-2], $[4,3,-1], $[0,1,2], $[1,2,1])", "%v", 2) == ["14", "20"]


def test_slice_backwards():
    x = NUMBERS % (12, "3,2,2")
    least = -9223372036854775808
    assert content("", x + "%v = slice(%x, $[2, 1], $[0, 2], $[0, 2], $[-1, 1])", "%v", 4) == ["9", "11", "5", "7"]
    assert content("", "%%v = slice($[5, 6, 7], $[-1], $[%d], $[0], $[-1])" % least, "%v", 3) == ["7", "6", "5"]
    expect("", "%v = slice($[5, 6, 7], $[3], $[4])", v="[0]")
    assert content("", "%v = slice($[1, 2, 3, 4, 5], $[-100], $[2])", "%v", 2) == ["1", "2"]


def test_gather_from_a_shape():
    assert content("x: f32[a,b,3,c]", "%n = shape(%x)\n%v = gather(%n, $[3, 2, 1, 0, 1])", "%v", 5) == \
        ["c", "3", "b", "a", "b"]
    assert content("x: f32[a,b,3,c]", "%n = shape(%x)\n%v = gather(%n, $1)", "%v", 1) == ["b"]
    assert content("x: f32[a,b,3,c]", "%n = shape(%x)\n%v = gather(%n, $-1)", "%v", 1) == ["c"]
    refused("x: f32[a,b,3,c]", '%n = shape(%x)\n%v = gather(%n, $4) at "g" "Gather"', "'g'", "4")


def test_gather_with_batch_dims():
    x = NUMBERS % (24, "2,2,3,2") + "%i = reshape($[2, 2, 1, 0], $[2, 2, 1])\n%v = gather_nd(%x, %i) {batch_dims = 2}"
    assert infer("", x)["v"] == "[2, 2, 2]"
    assert content("", x, "%v", 8) == ["4", "5", "10", "11", "14", "15", "18", "19"]


def test_range_of_constants():
    for start, limit, delta, count in ((1, 10, 1, 9), ("f1", "f2", "f0.4", 3), ("f1", "f1", "f0.4", 0),
                                       ("f-1", "f10", "f0.4", 28), (-10, -2, 2, 4), ("f-10", "f-2", "f0.7", 12),
                                       ("f-10.7", "f-2.8", "f0.3", 27), ("f1", "f0", "f0.4", 0)):
        expect("", "%%o = range($%s, $%s, $%s)" % (start, limit, delta), o="[%d]" % count)
    refused("", '%o = range($1, $5, $0) at "r" "Range"', "'r'", "delta")


def test_range_of_symbols():
    size = "%%n = shape(%%x)\n%%s = gather(%%n, $0)\n%%t = gather(%%n, $1)\n%%o = range(%s, %s, %s)"
    expect("x: f32[s,t]", size % ("%s", "%t", "$1"), o="[max(0, t - s)]")
    expect("x: f32[s,t]", size % ("%s", "%t", "$1"), o="[t - s]", assume="s <= t")
    expect("x: f32[s,t]", size % ("$2", "$8", "%s"), o="[ceildiv(6, s)]", checks=["s != 0"])
    body = "%%n = shape(%%x) {end = 1}\n%%s = squeeze(%%n)\n%%f = cast(%%s) {to = f32}\n%s"
    for last, dim in (("%o = range($f0.0, %f, $f0.5)", "[2*s]"), ("%o = range($f0.0, %f, $f3.0)", "[(s + 2)//3]"),
                      ("%h = div(%f, $f2.0)\n%o = range($f0.0, %h, $f1.0)", "[(s + 1)//2]"),
                      ("%o = range($f1.0, %f, $f1.0)", "[max(0, s - 1)]"), ("%o = range($f0.0, %f, $f0.3)", "[o_d0]")):
        facts = infer("x: f32[s,t]", body % last, assume="s <= 1000")
        assert facts["o"] == dim and not facts.checks, (last, facts["o"], facts.checks)
    facts = infer("i: i64[]; j: i64[]", "%o = range(%i, %j, $1)")
    assert len(facts.all["values"]["o"]["shape"]) == 1


def test_filled_contents():
    body = "%n = shape(%x)\n%p = reduce_prod(%n, $[0]) {keepdims = 0}\n%v = expand(%p, $[2, 4, 2])"
    assert content("x: f32[a,b]", body, "%v", 16) == ["a*b"] * 16
    expect("x: f32[a,b]", body.replace("[2, 4, 2]", "[16, 64, 8]"), v="[16, 64, 8]")


def test_tile():
    expect("x: f32[a,b]", "%o = tile(%x, $[2, 3])", o="[2*a, 3*b]")
    expect("x: f32[a,b,c]", "%o = tile(%x, $[1, 2, 3])", o="[a, 2*b, 3*c]")
    assert infer("x: f32[a,b,c]", "%n = shape(%x)\n%m = unsqueeze(%n, $[0, 1])\n%v = tile(%m, $[2, 2, 3])")["v"] == \
        "[2, 2, 9]"
    assert content("x: f32[a,b,c]", "%n = shape(%x)\n%m = unsqueeze(%n, $[0, 1])\n%v = tile(%m, $[2, 2, 3])", "%v",
                   36) == ["a", "b", "c"] * 12
    refused("x: f32[a,b]", "%o = tile(%x, $[2])", "repeats")


def test_pad():
    expect("x: f32[a,b,c]", "%o = pad(%x, $[1, 2, 1, 2, 1, 1])", o="[a + 3, b + 3, c + 2]")
    refused("x: f32[a,b,c]", "%o = pad(%x, $[1, 2, 1, 2])", "pads")


def test_reduce():
    expect("x: f32[d,c,b,a]", "%o = reduce_sum(%x, $[1, 2]) {keepdims = 1}", o="[d, 1, 1, a]")
    expect("x: f32[d,c,b,a]", "%o = reduce_sum(%x, $[1, 2]) {keepdims = 0}", o="[d, a]")
    expect("x: f32[10,9,7]", "%o = reduce_max(%x, $[-1]) {keepdims = 1}", o="[10, 9, 1]")
    expect("x: f32[10,9,7]", "%o = reduce_max(%x, $[-1]) {keepdims = 0}", o="[10, 9]")
    expect("x: f32[a,b]", "%o = reduce_sum(%x, $[]) {noop_with_empty_axes = 1}", o="[a, b]")
    refused("x: f32[a,b]", "%o = reduce_sum(%x, $[999])", "999")


def test_product_of_a_shape():
    for keep in 0, 1:
        assert content("x: f32[a,b,c]", "%%n = shape(%%x)\n%%v = reduce_prod(%%n, $[0]) {keepdims = %d}" % keep, "%v",
                       1) == ["a*b*c"]


def test_sums_of_contents():
    x = "%x = reshape($[1, 2, 3, 4, 5, 6], $[2, 3])\n"
    assert content("", x + "%v = add(%x, $[10, 20, 30])", "%v", 6) == ["11", "22", "33", "14", "25", "36"]
    assert content("", x + "%v = add(%x, $10)", "%v", 6) == ["11", "12", "13", "14", "15", "16"]


def test_a_size_that_is_a_sum_of_elements():
    facts = infer("n: i64[3]", "%s = reduce_sum(%n, $[0]) {keepdims = 1}\n%o = constant_of_shape(%s)")
    terms = facts.all["values"]["o"]["shape"][0].split(" + ")
    assert len(terms) == 3 and all("element" in facts.all["symbols"][t]["from"] for t in terms), terms


def test_top_k():
    expect("x: f32[a,b,3,d]", "%o, %i = top_k(%x, $[2]) {axis = 2}", o="[a, b, 2, d]", i="[a, b, 2, d]")
    expect("x: f32[a,b,c,d]", "%o, %i = top_k(%x, $[2]) {axis = -1}", o="[a, b, c, 2]", checks=["2 <= d"])
    refused("x: f32[a,b,c,d]", "%o, %i = top_k(%x, $[2]) {axis = 4}", "axis 4")
    refused("x: f32[a,1]", '%o, %i = top_k(%x, $[2]) {axis = 1} at "t" "TopK"', "'t'", "2", "1")


def test_convolution():
    expect("x: f32[n,c,h,w]; k: f32[m,c,p,q]", "%o = conv(%x, %k)", o="[n, m, h - p + 1, w - q + 1]",
           checks=["p <= h", "q <= w", "1 <= p", "1 <= q"])
    refused("x: f32[n,3,4,4]; k: f32[8,3,0,1]", '%o = conv(%x, %k) at "c" "Conv"', "'c'", "spatial dim 0", "0")
    expect("x: f32[n,3,h,w]; k: f32[3,8,3,3]", "%o = conv_transpose(%x, %k) {strides = [2, 2], output_shape = [20, 21]}",
           o="[n, 8, 20, 21]", checks=["9 <= h", "10 <= w"])
    refused("x: f32[n,3,8,9]; k: f32[3,8,3,3]", "%o = conv_transpose(%x, %k) {strides = [2, 2], output_shape = [20, 19]}",
            "spatial dim 0", "8", "20")
    refused("x: f32[n,3,4,4]; k: f32[3,8,1,0]", '%o = conv_transpose(%x, %k) at "c" "ConvTranspose"', "'c'", "spatial dim 1", "0")
    expect("x: f32[0,3,h,w]; k: f32[8,3,3,3]", "%o = conv(%x, %k) {pads = [1, 1, 1, 1]}", o="[0, 8, h, w]")
    refused("x: f32[n,3,4,4]; k: f32[8,3,5,5]", '%o = conv(%x, %k) at "c" "Conv"', "'c'", "5", "4")
    refused("x: f32[n,3,9,9]; k: f32[8,3,5,5]", "%o = conv(%x, %k) {strides = [0, 1]}", "strides")
    refused("x: f32[n,3,9,9]; k: f32[8,3,5,5]", "%o = conv(%x, %k) {strides = [1]}", "strides")
    refused("x: f32[n,3,9,9]; k: f32[8,3,5,5]", "%o = conv(%x, %k) {group = 2}", "3")
    refused("x: f32[n,3,9,9]; k: f32[8,3,5,5]", '%o = conv(%x, %k) {auto_pad = "ODD"}', "auto_pad")


def test_layer_norm_statistics():
    expect("x: f32[a,b,c]; s: f32[c]", "%o, %m, %d = layer_norm(%x, %s) {axis = -1}", o="[a, b, c]", m="[a, b, 1]",
           d="[a, b, 1]")
    expect("x: f32[a,b,c]; s: f32[b,c]", "%o, %m, %d = layer_norm(%x, %s) {axis = 1}", o="[a, b, c]", m="[a, 1, 1]",
           d="[a, 1, 1]")


if __name__ == "__main__":
    sys.exit(main(globals()))
