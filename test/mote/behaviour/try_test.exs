defmodule Mote.Behaviour.TryTest do
  # What fails in a `try` is undone, and the turn goes on: in a machine, by interpreter and native code, as IR, and as plain Elixir.
  use ExUnit.Case, async: true
  use ExUnitProperties

  @moduletag capture_log: true

  alias Mote.Generators.Expressions
  alias Mote.{Interpret, Prelude}

  defmodule Broken do
    defexception [:code, message: "broken"]
  end

  defmodule Told do
    defexception [:message]
    def exception(code), do: %__MODULE__{message: "code #{inspect(code)}"}
  end

  # Each is a function of x, y and z.
  @cases [
    "try do div(x, y) rescue ArithmeticError -> :none end",
    "try do div(x, y) rescue e in ArithmeticError -> e end",
    "try do div(x, y) rescue e -> {:error, e.message} end",
    "try do x + y rescue e in [KeyError, ArithmeticError] -> e end",
    "try do x + y rescue [KeyError, ArithmeticError] -> :both end",
    "try do div(x, y) rescue e in ErlangError -> e end",
    "try do raise(ArithmeticError) rescue ErlangError -> 1; _ -> 2 end",
    "try do {Map.fetch!(z, x), hd(x)} rescue e in [ErlangError, KeyError] -> e.__struct__ end",
    "try do throw(x) rescue ErlangError -> 1 catch v -> v end",
    "try do div(x, y) rescue KeyError -> :key; ArithmeticError -> :number; _ -> :other end",
    "try do div(x, y) catch :error, :badarith -> :number end",
    "try do div(x, y) catch kind, reason -> {kind, reason} end",
    "try do div(x, y) catch _, _ -> :caught end",
    "try do z.name rescue e in KeyError -> {e.key, e.term} end",
    "try do Map.fetch!(z, x) rescue e in KeyError -> {e.key, e.term} end",
    "try do %{z | name: x} rescue KeyError -> :none end",
    "try do %{z | name: x} rescue e in KeyError -> {e.key, e.term} end",
    "try do {a, b} = x\n{b, a} rescue e in MatchError -> e end",
    "try do {a, b} = x\n{b, a} catch :error, {:badmatch, value} -> value end",
    "try do case x do 1 -> :one end rescue e in CaseClauseError -> e.term end",
    "try do cond do x == 1 -> :one end rescue e in CondClauseError -> e end",
    "try do with {:ok, a} <- x, do: a, else: (:b -> 1) rescue e in WithClauseError -> e.term end",
    "try do only_one(x) rescue e in FunctionClauseError -> e end",
    "try do hd(x) rescue ArgumentError -> :none end",
    "try do String.to_integer(x) rescue ArgumentError -> :none end",
    "try do x and y rescue e in BadBooleanError -> e end",
    "try do x.(y) rescue e in BadFunctionError -> e.term end",
    "try do Enum.max(x) rescue Enum.EmptyError -> :empty end",
    "try do String.upcase(x) rescue _ -> :none end",
    "try do raise \"x: \#{inspect(y)}\" rescue e in RuntimeError -> e end",
    "try do raise \"bad\" rescue e -> e.message end",
    "try do raise ArgumentError, \"bad\" rescue e in ArgumentError -> e end",
    "try do raise ArgumentError rescue e in ArgumentError -> e end",
    "try do raise Broken, code: x rescue e in Broken -> {e.code, e.message} end",
    "try do raise Broken rescue e -> e end",
    "try do raise Told, x rescue Told -> :told end",
    "try do raise RuntimeError, x rescue RuntimeError -> :known end",
    "try do Keyword.fetch!(x, :a) rescue e -> e end",
    "try do Keyword.update!([x | y], :a, &(&1)) rescue KeyError -> :key; FunctionClauseError -> :clause end",
    "try do put_in(z.name, x) rescue e in KeyError -> e.term end",
    "try do raise %Broken{code: x} rescue e -> e.code end",
    "try do raise Broken, code: x rescue e in ArithmeticError -> e end",
    "try do throw({x, y}) catch {a, b} -> [a, b] end",
    "try do throw({x, y}) catch :throw, {_, b} when is_integer(b) -> b; other -> {:other, other} end",
    "try do throw(x) rescue _ -> 1 catch value -> {:thrown, value} end",
    "try do throw(x) catch {a, _} -> a end",
    "try do throw(x) rescue _ -> 1 end",
    "try do {:ok, div(x, y)} rescue _ -> :none else {:ok, n} -> {:n, n} end",
    "try do div(x, y) rescue _ -> :none else 0 -> :zero end",
    "try do div(x, y) rescue _ -> :none else n when n > 1 -> div(n, x - x); n -> n end",
    "try do div(x, y) after x end",
    "try do div(x, y) rescue _ -> :none after hd(y) end",
    "try do try do div(x, y) after throw(:after) end catch value -> value end",
    "try do try do div(x, y) rescue KeyError -> 1 end rescue ArithmeticError -> 2 end",
    "try do try do div(x, y) rescue _ -> hd(x) end rescue ArgumentError -> :inner end",
    "try do try do throw(x) rescue _ -> 1 end catch v -> {:outer, v} end",
    "try do div(x, y) rescue e in ArithmeticError -> reraise e, __STACKTRACE__ end",
    "try do try do div(x, y) rescue e -> reraise e, __STACKTRACE__ end catch :error, value -> {:caught, value} end",
    "try do try do hd(x) rescue e -> reraise e, __STACKTRACE__ end catch :error, value -> inspect(value) end",
    "try do try do hd(x) rescue e -> reraise e, __STACKTRACE__ end rescue ArgumentError -> :again end",
    "try do try do raise %Broken{code: x} rescue e -> reraise e, __STACKTRACE__ end catch :error, value -> value end",
    "try do Enum.map(x, &(1 / &1)) rescue ArithmeticError -> :some end",
    "Enum.map([x, y, 1], fn a -> try do div(6, a) rescue _ -> {:bad, a} end end)",
    "(f = fn a -> try do div(6, a) rescue _ -> {:bad, a, z} end end; {f.(x), f.(y), Enum.map([1, x], f)})",
    "deep(x, 50)",
    "safe(x, y)",
    "(a = try do div(x, y) rescue _ -> 0 end; b = try do div(y, x) rescue _ -> 0 end; {a, b})",
    "if (try do x > div(y, x) rescue _ -> false end), do: :yes, else: :no",
    "(loop(2, [x]); try do loop(3, y) rescue _ -> :no_list end)",
    "Tries.number(x)",
    "Tries.message(x)",
    "try do Tries.message(x) rescue e -> e catch kind, value -> {kind, value} end",
    "Tries.any(x)",
    "Tries.any(y)",
    "(b = x; c = {y}; try do d = {b, c}; throw(d) catch e -> {b, c, e} end)"
  ]

  @helpers """
  alias Mote.Behaviour.TryTest.{Broken, Told}
  alias Mote.Imported.Tries
  defpure only_one(1), do: :one

  defpure safe(x, y) do
    div(x, y)
  rescue
    ArithmeticError -> :none
  else
    n -> {:ok, n}
  after
    :ok
  end

  defpure deep(x, 0), do: div(1, x)
  defpure deep(x, n) do
    try do
      deep(x, n - 1)
    rescue
      e in KeyError -> e
    catch
      {:level, m} -> throw({:level, m + 1})
    end
  rescue
    ArithmeticError -> throw({:level, 0})
  catch
    {:level, 25} -> {:half, n}
  end

  defpure loop(0, acc), do: acc
  defpure loop(n, acc), do: loop(n - 1, [try(do: div(12, n - 2), rescue: (_ -> :bad)) | acc ++ []])
  """

  @values [0, 1, 2, 3, -3, 2.5, :a, nil, true, "12", "x", [], [1, 2], [1, 0], {1, 2}, %{name: 1}, %{}]

  setup_all do
    functions =
      for {text, n} <- Enum.with_index(@cases),
          do: "defpure case#{n}(x, y, z) do\n_ = {x, y, z}\n#{text}\nend\n"

    module = compiled(@helpers <> Enum.join(functions), length(@cases))

    %{code: module, actors: Mote.Generators.on_tiers(module, module.server())}
  end

  defp compiled(functions, count, use \\ "use Mote.Behaviour, import: [Mote.Imported.Tries]") do
    clauses =
      for n <- 0..(count - 1), do: "{customer, {#{n}, x, y, z}} -> send customer, {:ok, case#{n}(x, y, z)}\n"

    name = "Mote.TryCases#{System.unique_integer([:positive])}"
    text = "defmodule #{name} do\n#{use}\n#{functions}\ndefactor server() do\n#{clauses}end\nend"

    # Elixir sees that some of them must fail.
    {[{module, _} | _], _} = ExUnit.CaptureIO.with_io(:stderr, fn -> Code.compile_string(text) end)
    module
  end

  # What Elixir has or raises; what it throws is thrown.
  defp elixir(module, n, args) do
    {:ok, apply(module, :"case#{n}", args)}
  rescue
    exception -> {:raised, exception.__struct__}
  catch
    kind, value -> {kind, value}
  end

  defp machine(actor, n, [x, y, z]) do
    case Mote.ask(actor, {n, x, y, z}) do
      {:ok, {:ok, value}} -> {:ok, value}
      {:error, %{context: %{reason: reason}}} -> {:aborted, reason}
    end
  end

  defp ir(module, n, args) do
    {:ok, Interpret.call(module, :"case#{n}", args)}
  rescue
    abort in Mote.Abort -> {:aborted, abort.reason}
  end

  # A machine aborts with what Elixir raises; or where a clause asks for what it does not know, with what `try` would have caught.
  defp same?({:ok, value}, {:ok, other}), do: Mote.Total.same(value, other)

  defp same?({:raised, module}, {:aborted, {:raised, _, _} = reason}),
    do: Mote.Raised.exception(reason).__struct__ == module

  defp same?({kind, value}, {:aborted, {:raised, {_, _, {:erlang, kind}}, {thrown}}}),
    do: Mote.Total.same(value, thrown)

  defp same?(_, _), do: false

  defp unknown?({:aborted, {:uncaught, reason}}),
    do: Enum.any?(Tuple.to_list(Prelude.Tried.caught(reason)), &(&1 in [:"mote unseen", :"mote unknown"]))

  defp unknown?(_), do: false

  for {text, n} <- Enum.with_index(@cases) do
    test "#{n}: #{text}", %{code: module, actors: actors} do
      n = unquote(n)

      for x <- @values, y <- [1, 0, :b, [3]], z <- [%{name: 7}, %{1 => 2}, nil] do
        expected = elixir(module, n, [x, y, z])
        seen = [ir(module, n, [x, y, z]) | Enum.map(actors, &machine(&1, n, [x, y, z]))]

        for one <- seen do
          assert same?(expected, one) or unknown?(one),
                 "#{inspect([x, y, z])}: #{inspect(expected)}, but #{inspect(one)}"
        end
      end
    end
  end

  # Where one of these aborted instead, the table above would not notice.
  test "what is known is caught", %{code: module, actors: actors} do
    for {text, n} <- Enum.with_index(@cases), not (text =~ ~r/inspect|upcase|Keyword/) do
      wrong = for x <- [0, 1, 2, {1, 2}, [1, 0]], y <- [1, 0], do: {n, x, y}

      for {n, x, y} <- wrong, actor <- actors do
        case {elixir(module, n, [x, y, %{name: 1}]), machine(actor, n, [x, y, %{name: 1}])} do
          {{:ok, value}, aborted} -> assert aborted == {:ok, value}, "#{text} of #{inspect({x, y})}"
          _ -> :ok
        end
      end
    end
  end

  test "what there is not is refused" do
    for {body, told} <- [
          {"try do x rescue _ -> __STACKTRACE__ end", "__STACKTRACE__ is not available in a behaviour"},
          {"try do x rescue e -> reraise(x, __STACKTRACE__) end", "reraise is not available in a behaviour"},
          {"raise x, 1", "raise names the module of an exception"},
          {"try do y = x rescue _ -> 1 end\ny", "undefined variable \"y\""},
          {"try do send(x, 1) rescue _ -> 1 end", "send cannot be used in a defpure"},
          {"fn y -> try do send(x, y) catch _ -> 1 end end", "send cannot be used in a defpure"}
        ] do
      assert Mote.Compile.error("defpure f(x) do\n#{body}\nend", "", :abort) =~ told
    end
  end

  test "a handler may stash or become, as what has failed has done nothing" do
    assert [{Mote.TryStashes, _}] =
             Code.compile_string("""
             defmodule Mote.TryStashes do
               use Mote.Behaviour

               defactor waits(n \\\\ 0) do
                 x ->
                   try do
                     stash n: div(n, x)
                   rescue
                     ArithmeticError -> become waits_on()
                   end
               end

               defactor waits_on() do
                 {customer, x} -> send customer, x
               end
             end
             """)
  end

  @scope %{values: ["x", "y", "z"], addresses: [], functions: 0}

  # Random code in all places of a `try`.
  defp tried(e, f) do
    [
      "try do #{e} rescue _ -> #{f} end",
      "try do {#{e}, #{f}} rescue ArithmeticError -> :number; BadMapError -> :map; KeyError -> :key catch v -> {:thrown, v} end",
      "try do try do #{e} rescue e in KeyError -> e.key after #{f} end catch _, _ -> :outer end",
      "Enum.map([x, y], fn y -> try do #{e} rescue _ -> #{f} end end)",
      "try do throw({#{e}, #{f}}) catch {a, _} -> {:thrown, a} end",
      "try do #{e} rescue e -> e else 1 -> #{f}; other -> {other} end",
      "try do #{e} catch kind, reason -> {kind, reason, #{f}} end",
      "(g = fn x -> try do #{e} rescue [ArgumentError, FunctionClauseError] -> #{f} end end; {g.(x), g.(z)})"
    ]
  end

  @tag timeout: :infinity
  property "random code does the same" do
    machines = for tier <- [:interp, :native], do: start_supervised!({Mote, tier: tier, id: make_ref()})
    pairs = list_of(tuple({Expressions.expr(@scope, 3, "a"), Expressions.expr(@scope, 2, "b")}), length: 3)

    check all(pairs <- pairs, max_runs: Mote.Long.runs(8)) do
      cases = Enum.flat_map(pairs, fn {e, f} -> tried(e, f) end)

      functions =
        for {text, n} <- Enum.with_index(cases),
            do: "defpure case#{n}(x, y, z) do\n_ = {x, y, z}\n#{text}\nend\n"

      module = compiled(Enum.join(functions), length(cases))

      actors =
        for machine <- machines do
          {:ok, _} = Mote.Generators.load(machine, module)
          Mote.create(machine, module.server())
        end

      for {text, n} <- Enum.with_index(cases), args <- [[1, 2, %{a: 1}], [:a, 0, []], [[1, 2.5], "x", {1}]] do
        expected = elixir(module, n, args)

        for one <- [ir(module, n, args) | Enum.map(actors, &machine(&1, n, args))] do
          agree? = same?(expected, one) or (elem(expected, 0) != :ok and elem(one, 0) == :aborted)

          assert agree? or unknown?(one),
                 "#{text}\nof #{inspect(args)}: #{inspect(expected)}, but #{inspect(one)}"
        end
      end

      :code.purge(module)
      :code.delete(module)
    end
  end
end
