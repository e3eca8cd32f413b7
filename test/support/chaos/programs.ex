defmodule Mote.Chaos.Programs do
  @moduledoc """
  Generated modules of behaviours in which everything meets everything.

  Their expressions are those of `Mote.Generators`, but here an expression may also be an address, and create actors: in
  keys of maps, in the subject of a `case`, in a reason to abort. So nothing is known of what such a program does, except
  that it ends: as in `Mote.Generators`, what an actor sends to actors has one step less.
  """

  import StreamData

  alias Mote.Chaos.Random
  alias Mote.Generators.{Expressions, Patterns}

  @actors 3

  @doc "How many behaviours a module has: `a0` and so on, each with the captures `out`, `s` and `t`."
  def actors, do: @actors

  @doc "The source of a module without its head; the calling process's random numbers decide."
  def wild(size) do
    source = sample(source(), size)
    # Guards inside of expressions may have got what no guard may have: then another one.
    if compiles?(source), do: source, else: wild(size)
  end

  defp compiles?(source) do
    compile(Mote.Chaos.Wild.Trial, source)
    # At once: the next one has the same name.
    :code.delete(Mote.Chaos.Wild.Trial)
    :code.purge(Mote.Chaos.Wild.Trial)
    true
  rescue
    Mote.CompileError -> false
  end

  @doc "Compiles a source as the module `name`."
  def compile(name, source) do
    Mote.Compile.quietly(
      "defmodule #{inspect(name)} do\nuse Mote.Behaviour, errors: :undefined\n#{source}\nend",
      "wild.ex"
    )

    name
  end

  @doc "A program of `Mote.Generators`, which goes the same way in the reference and in a machine."
  def plain(size), do: sample(Mote.Generators.program(), size)

  # One value of a generator, by its public function that takes a seed.
  defp sample(generator, size) do
    seed = Random.between(0, 1_000_000_000)
    options = [initial_seed: {seed, 1, 2}, initial_size: size, max_runs: 1]

    {:error, %{original_failure: value}} =
      check_all(generator, options, fn value -> {:error, value} end |> only_once())

    value
  end

  # The first value is what is wanted: what would be simpler does not fail.
  defp only_once(fun) do
    key = make_ref()

    fn value ->
      if Process.put(key, true), do: {:ok, value}, else: fun.(value)
    end
  end

  defp source do
    0..(@actors - 1)
    |> Enum.map(&actor/1)
    |> fixed_list()
    |> map(&(functions() <> Enum.join(&1)))
  end

  defp functions do
    """
    defpure f0(x, y), do: {y, x}
    defpure r0(0, x), do: x
    defpure r0(n, x) when is_integer(n) and n > 0, do: r0(n - 1, [x | n])
    defpure d0(0, x), do: x
    defpure d0(n, x), do: hd([d0(n - 1, x), n])
    defpure t0(0, x), do: x
    defpure t0(n, x), do: t0(n - 1, {x, x})
    """
  end

  defp actor(i) do
    map(list_of(clause(), min_length: 1, max_length: 3), fn clauses ->
      """
      defactor a#{i}(out, s, t) do
      #{Enum.join(clauses)}  {0, v, _} -> send(out, {:end, v, s})
        {customer, v} -> send(customer, {v, s, t})
        {k, m, _} when is_integer(k) and k > 0 -> become(a#{i}(out, m, t))
      end
      """
    end)
  end

  defp clause do
    plain = %{values: ["s", "k"], addresses: [], functions: 1}

    bind(Patterns.pattern(plain, 2, "m"), fn {pattern, variables} ->
      values = variables ++ ["s", "k"]
      guard = Patterns.guard(%{plain | values: values}, 2)
      # Addresses and new actors are values as all others.
      wild = ["t", "a", "self()", "t0(10, k)"] ++ for(i <- 0..(@actors - 1), do: "create(a#{i}(out, k, a))")
      scope = %{values: values ++ wild, addresses: ["a", "t", "self()"], functions: 1}

      map(
        tuple({frequency([{2, constant("true")}, {1, guard}]), list_of(statement(scope), length: 3)}),
        fn {guard, statements} ->
          "  {k, #{pattern}, a} when is_integer(k) and k > 0 and #{guard} ->\n#{Enum.map_join(statements, &"    #{&1}\n")}"
        end
      )
    end)
  end

  defp statement(scope) do
    e = fn path -> Expressions.expr(scope, 3, path) end
    target = member_of(scope.addresses ++ ["create(a0(out, a, t))"])

    frequency([
      {3, map(e.("r"), &"send(out, {:report, #{&1}})")},
      {5,
       map(tuple({target, e.("x"), target}), fn {to, value, other} ->
         "send(#{to}, {k - 1, #{value}, #{other}})"
       end)},
      {1,
       map(
         tuple({member_of(~w(:main :side :none)), target, e.("x")}),
         fn {sponsor, to, value} -> "sendx(#{sponsor}, #{to}, {k - 1, #{value}, on(#{sponsor}, t)})" end
       )},
      {1,
       map(tuple({target, e.("x")}), fn {to, value} ->
         "send(#{to}, {k - 1, send_after(k, #{to}, {k - 1, #{value}, t}), a})"
       end)},
      {2,
       map(tuple({integer(0..(@actors - 1)), e.("x"), target}), fn {i, value, to} ->
         "become(a#{i}(out, #{value}, #{to}))"
       end)},
      {2, map(tuple({e.("x"), e.("y")}), fn {x, y} -> "if (#{x}) == 3, do: abort(#{y})" end)},
      {1, map(e.("x"), &"abort({k, #{&1}})")},
      {1,
       map(tuple({Patterns.pattern(%{scope | values: ["s"]}, 1, "q"), e.("x")}), fn {{p, _}, x} ->
         "#{p} = #{x}"
       end)},
      {1,
       map(tuple({e.("x"), e.("y")}), fn {x, y} ->
         "case {create(a1(out, k, a)), #{x}} do\n{_, 7} -> send(out, #{y})\nend"
       end)}
    ])
  end
end
