defmodule Mote.Values.VectorsTest do
  # Vectors as behaviours see them: on a machine and in the reference, to the last bit.
  use ExUnit.Case, async: true
  use ExUnitProperties
  doctest Mote.Vector

  @moduletag :capture_log

  alias Mote.Vector

  defmodule Vectors do
    use Mote.Behaviour, errors: :undefined

    defactor eval() do
      {customer, {:new, type, list}} ->
        send customer, Mote.Vector.new(type, list)

      {customer, {:binary, type, bytes}} ->
        send customer, Mote.Vector.from_binary(type, bytes)

      {customer, {:read, v, i}} ->
        send customer, read(v, i)

      {customer, {:parts, a, i, n}} ->
        send customer, {Mote.Vector.slice(a, i, n), Mote.Vector.concat(a, a)}

      {customer, {:pairs, a, b}} ->
        send customer, {pairs(a, b), Mote.Vector.dot(a, b), Mote.Vector.squared_distance(a, b)}

      {customer, {:literal}} ->
        send customer, Mote.Vector.new(:i64, [1, 2, 3])

      {customer, {:type, %Mote.Vector{type: type}}} ->
        send customer, type
    end

    defpure read(v, i) do
      {Mote.Vector.size(v), Mote.Vector.get(v, i), Mote.Vector.to_list(v), Mote.Vector.to_binary(v),
       Mote.Vector.sum(v), Mote.Vector.min(v), Mote.Vector.max(v), Mote.Vector.argmin(v),
       Mote.Vector.argmax(v), Mote.Vector.sort(v)}
    end

    defpure pairs(a, b) do
      {Mote.Vector.add(a, b), Mote.Vector.sub(a, b), Mote.Vector.mul(a, b), Mote.Vector.div(a, b),
       Mote.Vector.min(a, b), Mote.Vector.max(a, b)}
    end
  end

  defmodule Chains do
    # What is in between is read once: the machine computes in its place, or frees it. What has no answer raises with
    # the vectors as they were.
    use Mote.Behaviour
    alias Mote.Vector, as: V

    defactor eval() do
      {customer, {what, a, b, c, n}} -> send customer, chain(what, a, b, c, n)
    end

    defpurep chain(:relax, a, b, _, n), do: V.min(a, V.add(b, n))
    defpurep chain(:left, a, b, c, _), do: V.sub(V.mul(a, b), c)
    defpurep chain(:both, a, b, c, _), do: V.add(V.mul(a, b), V.sub(a, c))
    defpurep chain(:sum, a, b, c, _), do: V.sum(V.mul(V.sub(a, b), c))

    defpurep chain(:dots, a, b, c, _),
      do: {V.dot(V.sub(a, b), c), V.squared_distance(V.add(a, c), V.max(a, b))}

    defpurep chain(:get, a, b, c, n), do: {V.get(V.add(a, b), 0), V.min(V.mul(b, n)), V.argmax(V.max(b, c))}

    defpurep chain(:kept, a, b, _, n) do
      sum = V.add(a, b)
      twice = V.add(sum, sum)
      more = V.sub(V.mul(sum, n), sum)
      {sum, V.to_binary(twice), V.sum(more), more, [V.max(twice, sum), V.slice(V.min(twice, more), 0, 1)]}
    end

    defpurep chain(:branch, a, b, c, n) do
      one = if n > 0, do: V.add(a, b), else: c
      other = if n > 0, do: V.add(a, b), else: V.sub(a, b)
      {V.max(one, n), V.max(other, n), a, b, c}
    end

    defpurep chain(:loop, a, b, c, _), do: {loop(a, b, 5), loop(b, c, 5), a, b, c}

    defpurep loop(x, _, 0), do: x
    defpurep loop(x, y, i), do: loop(V.max(V.sub(x, V.min(y, i)), V.add(y, 1)), y, i - 1)
  end

  setup_all do
    machine = start_supervised!(Mote)

    %{
      machine: machine,
      eval: Mote.create(machine, Vectors.eval()),
      chains: Mote.create(machine, Chains.eval())
    }
  end

  # The answer, or the reason why there is none, from the machine and from its code where that is read in Elixir.
  defp chained(%{chains: chains}, {_, a, b, c, _} = request) do
    there =
      case Mote.Interpret.turn(Chains.eval(), {self(), request}) do
        %{sends: [{_, answer}]} -> {:ok, answer}
        %{outcome: {:abort, reason}} -> {:abort, reported(reason)}
      end

    here =
      case Mote.ask(chains, request, timeout: 30_000) do
        {:ok, answer} -> {:ok, answer}
        {:error, %Mote.Error{context: %{reason: reason}}} -> {:abort, reported(reason)}
      end

    assert :erlang.term_to_binary(here) == :erlang.term_to_binary(there)
    # Nobody has written to what the message has.
    assert {a, b, c} == :erlang.binary_to_term(:erlang.term_to_binary({a, b, c}))
    elem(here, 0)
  end

  # What is reported of long binaries is their beginning.
  defp reported({:raised, where, arguments}) do
    arguments =
      for argument <- Tuple.to_list(arguments) do
        case argument do
          %Vector{binary: <<start::binary-256, _::binary>>} -> %{argument | binary: start}
          short -> short
        end
      end

    {:raised, where, arguments}
  end

  @chains ~w[relax left both sum dots get kept branch loop]a

  # What the machine says, and its code where that is read in Elixir, which must be the same, also in the sign of zeros.
  defp eval(%{eval: eval}, request) do
    turn = Mote.Interpret.turn(Vectors.eval(), {self(), request})
    answer = Mote.ask!(eval, request, 30_000)
    assert [{_, there}] = turn.sends
    assert :erlang.term_to_binary(there) == :erlang.term_to_binary(answer)
    answer
  end

  @undefined List.duplicate(:undefined, 10) |> List.to_tuple()

  test "elements and what they come to", context do
    v = Vector.new(:f64, [3, -1.5, 2.0, -1.5])
    sorted = Vector.new(:f64, [-1.5, -1.5, 2.0, 3.0])
    bytes = for f <- [3.0, -1.5, 2.0, -1.5], into: "", do: <<f::float-little>>

    assert eval(context, {:read, v, 2}) ===
             {4, 2.0, [3.0, -1.5, 2.0, -1.5], bytes, 2.0, -1.5, 3.0, 1, 0, sorted}

    assert eval(context, {:read, Vector.new(:i64, []), 0}) |> Tuple.to_list() |> Enum.take(5) == [
             0,
             :undefined,
             [],
             "",
             0
           ]

    assert eval(context, {:literal}) === Vector.new(:i64, [1, 2, 3])
    assert eval(context, {:type, v}) == :f64
    assert inspect(v) == "#Mote.Vector<:f64 [3.0, -1.5, 2.0, -1.5]>"
    assert inspect(Vector.new(:i64, Enum.to_list(1..30))) =~ "20, :...]>"
  end

  test "what is no vector", context do
    odd = [
      1,
      nil,
      [1.0],
      "01234567",
      %{},
      %{__struct__: Vector},
      %Vector{type: :f32, binary: ""},
      %Vector{type: :f64, binary: "1"}
    ]

    for v <- odd, do: assert(eval(context, {:read, v, 0}) == @undefined)

    for type <- [:f64, :i64, :f32, nil], list <- [[:a], [1 | 2], [nil, 1], :a, [2 ** 1024], [%{}]] do
      assert eval(context, {:new, type, list}) == :undefined
    end

    assert eval(context, {:new, :i64, [1.0]}) == :undefined
    assert %Vector{} = eval(context, {:new, :i64, [2 ** 63 - 1, -(2 ** 63)]})
    for n <- [2 ** 63, -(2 ** 63) - 1, 3 ** 90], do: assert(eval(context, {:new, :i64, [n]}) == :undefined)
    assert eval(context, {:new, :f64, [2 ** 62, 3 ** 90]}) == Vector.new(:f64, [2.0 ** 62, 3 ** 90 / 1])
  end

  test "made by hand with what is no number", context do
    nan = %Vector{type: :f64, binary: <<1.0::float-little, 0x7FF8000000000000::little-64>>}

    assert {2, 1.0, :undefined, _, :undefined, :undefined, :undefined, :undefined, :undefined, :undefined} =
             eval(context, {:read, nan, 0})

    assert elem(eval(context, {:read, nan, 1}), 1) == :undefined
    assert {pairs, :undefined, :undefined} = eval(context, {:pairs, nan, nan})
    assert Enum.uniq(Tuple.to_list(pairs)) == [:undefined]
  end

  test "overflow has no answer", context do
    large = Vector.new(:f64, [1.0e308, 1.0e308])
    assert {{:undefined, _, :undefined, _, _, _}, :undefined, dist} = eval(context, {:pairs, large, large})
    assert dist == 0.0
    int = Vector.new(:i64, [2 ** 63 - 1])
    assert {{:undefined, zero, :undefined, one, int, int}, :undefined, 0} = eval(context, {:pairs, int, int})
    assert {Vector.to_list(zero), Vector.to_list(one)} == {[0], [1]}
    assert {_, :undefined, :undefined} = eval(context, {:pairs, Vector.new(:i64, [-(2 ** 63)]), int})
    least = Vector.new(:i64, [-(2 ** 63)])
    assert {{_, _, _, :undefined, _, _}, _, _} = eval(context, {:pairs, least, -1})
    assert {{_, _, _, :undefined, _, _}, _, _} = eval(context, {:pairs, least, 0})
    assert {{_, _, _, :undefined, _, _}, _, _} = eval(context, {:pairs, Vector.new(:f64, [1.0]), 0.0})
  end

  test "tensors", context do
    bytes = <<1.5::float-32-little, -2::32-little, 255, 0, 0, 0>>
    assert eval(context, {:binary, {:u, 8}, bytes}) |> Vector.size() == 12
    assert eval(context, {:binary, {:s, 32}, bytes}) |> Vector.to_list() == [1_069_547_520, -2, 255]
    assert eval(context, {:binary, {:f, 32}, binary_part(bytes, 0, 4)}) |> Vector.to_list() == [1.5]

    for type <- [:f64, :i64, {:f, 64}, {:s, 64}, {:f, 32}, {:f, 16}, {:s, 32}, {:bf, 16}, {:u}, nil],
        bytes <- [bytes, <<0x7FF0000000000000::little-64>>, <<0x7F800000::little-32>>, "", nil] do
      eval(context, {:binary, type, bytes})
    end
  end

  test "chains of every length around those of registers and blocks", context do
    for type <- [:i64, :f64], n <- Enum.concat([0..70, 126..132, [1_000, 40_000]]), what <- @chains do
      [a, b, c] = for by <- [7, 11, 13], do: Vector.new(type, for(i <- 1..n//1, do: rem(i * by, 101) - 40))
      outcome = chained(context, {what, a, b, c, 3})
      # Of nothing there is neither an element nor the least one.
      assert {what, n, outcome} == {what, n, if(n == 0 and what in [:get, :kept], do: :abort, else: :ok)}
    end
  end

  test "an overflow in a chain raises with what is in between, wherever it is", context do
    for type <- [:i64, :f64],
        n <- [1, 5, 31, 33, 66, 130],
        at <- 0..(n - 1),
        what <- [:left, :both, :sum, :kept] do
      large = if type == :i64, do: 2 ** 62, else: 1.0e308
      a = Vector.new(type, for(i <- 0..(n - 1), do: if(i == at, do: large, else: 1)))
      b = Vector.new(type, List.duplicate(1, n))
      c = Vector.new(type, for(i <- 0..(n - 1), do: if(i == at, do: -large, else: 2)))
      c = if what == :sum and type == :i64, do: Vector.mul(c, 2), else: c
      assert {at, chained(context, {what, a, b, c, 9})} == {at, :abort}
    end
  end

  property "chains of any numbers", context do
    float = one_of([float(), map(integer(-9..9), &(&1 * 1.0)), member_of([-0.0, 0.0, 5.0e-324, 1.0e300])])
    int = one_of([integer(), member_of([2 ** 63 - 1, -(2 ** 63), 2 ** 62, 2 ** 31, -(2 ** 31), -1, 0])])

    check all type <- member_of([:f64, :i64]),
              element = if(type == :f64, do: float, else: int),
              triples <- list_of(tuple({element, element, element}), max_length: 150),
              what <- member_of(@chains),
              n <- one_of([integer(-3..3), element]) do
      [a, b, c] = for i <- 0..2, do: Vector.new(type, Enum.map(triples, &elem(&1, i)))
      chained(context, {what, a, b, c, n})
      odd = %Vector{type: :f64, binary: a.binary <> <<0x7FF8000000000000::little-64>>}
      chained(context, {what, odd, b, c, n})
      chained(context, {what, a, b, odd, n})
    end
  end

  property "all of it, on any numbers", context do
    float = one_of([float(), map(integer(-9..9), &(&1 * 1.0)), member_of([-0.0, 0.0, 5.0e-324, 1.0e300])])
    int = one_of([integer(), member_of([2 ** 63 - 1, -(2 ** 63), 2 ** 62, -1, 0])])

    check all type <- member_of([:f64, :i64]),
              pairs <-
                list_of(tuple(if(type == :f64, do: {float, float}, else: {int, int})), max_length: 300),
              scalar <- one_of([float, int]),
              i <- integer(-1..20),
              n <- integer(-1..20) do
      {xs, ys} = Enum.unzip(pairs)
      [a, b] = [Vector.new(type, xs), Vector.new(type, ys)]
      assert eval(context, {:new, type, xs}) === a
      assert elem(eval(context, {:read, a, i}), 2) === xs
      eval(context, {:parts, a, i, n})
      eval(context, {:pairs, a, b})
      eval(context, {:pairs, a, scalar})
      eval(context, {:pairs, a, Vector.new(:f64, [1.0])})
    end
  end
end
