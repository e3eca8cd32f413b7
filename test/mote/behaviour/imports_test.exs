defmodule Mote.Behaviour.ImportsTest do
  # Functions of modules in plain Elixir, compiled to machines: what they return there, on both tiers, is what they return in
  # Elixir, and a turn is aborted with the exception that Elixir raises.
  use ExUnit.Case, async: true
  import ExUnit.CaptureIO

  alias Mote.Imported.{Item, Pricing, Tax}

  @moduletag :capture_log

  @cart [%Item{name: "a", price: 30, count: 2}, %Item{name: "b", price: 5, count: 0}, :other]

  # Functions of Pricing, with arguments.
  @calls [
    total: [[]],
    total: [@cart],
    total: [@cart, [country: :de]],
    total: [@cart, [country: :xx]],
    total: [[], [country: :xx]],
    total: [@cart, :no],
    total: [[%Item{name: "a", price: 1000}]],
    total: [[%Item{name: "a", price: :free}]],
    total: [7],
    label: [%Item{name: "a", price: 2}],
    label: [%Item{name: "a", price: 2.5, count: nil}],
    label: [%Item{name: "a", count: 4}],
    label: [%Item{name: "a", count: 0}],
    label: [%Item{name: 1, count: 9}],
    label: [%{name: "a"}],
    parity: [2],
    parity: [3],
    parity: [-1],
    parity: [-2],
    parity: [nil],
    parity: [:a],
    sorted: [[%Item{name: "b", price: 2}, %Item{name: "a", price: 2}]],
    sorted: [[%{price: 2, name: :b}]],
    parsed: ["a;12;x;y"],
    parsed: ["a"],
    parsed: ["a;12x"],
    parsed: ["a;x"],
    parsed: [7],
    cheaper: [%Item{name: "a", price: 7}, 2],
    cheaper: [%{name: "a", price: 7}, 2],
    field: [%{name: 1}],
    field: [%{nam: 1}],
    field: [nil],
    flag: [%{a: 1, b: 2}],
    flag: [%{a: 1}],
    flag: [[b: 2]],
    header: [<<0x12, "abc">>],
    header: [<<0x1F, "abc">>],
    bytes: ["abc"],
    bytes: [:abc],
    pairs: [%{a: [1, 1, 2], b: [1]}],
    pairs: [%{a: 1}],
    named: [[%{name: 1, a: 2}, %{name: 2}, 7], 1],
    negated: [true],
    negated: [1],
    both: [true, 1],
    both: [false, 1],
    both: [1, true],
    depth: [[1, [2, [3]], []]],
    of_module: [Tax, :fr],
    of_module: [Tax, "fr"],
    of_module: [Item, :fr],
    kind: [Tax],
    kind: [%{kind: 1}],
    kind: [Item],
    refused: ["it"],
    refused: [%{}],
    thrown: [1],
    defaults: [1],
    defaults: [1, 1],
    defaults: [1, 1, 1],
    shown: [{:a, 1}],
    told: [1],
    told: [[?a]],
    told: [%Item{name: "a", count: 2}],
    told: [%Item{name: {}, count: 2}],
    told: [~D[2020-02-29]],
    told: [%{}],
    ordered: [[~D[2020-03-01], ~D[2020-02-29], ~D[2021-01-01]]],
    ordered: [[]],
    five: [true],
    five: [false],
    five: [:no],
    any: [true],
    any: [false],
    any: [:no],
    listed: [[1, :a]],
    listed: [7],
    chosen: [[{1, 2}, {2, 1}, {3, 4}], 2],
    chosen: [[{:a, 1}], 2],
    letters: ["abcd"],
    hinted: [{}],
    hinted: [:a],
    thrown_text: [{:a}],
    unsure: [{:a}],
    unsure: [[]],
    unsure: [{%Item{name: "a"}, ~D[2020-02-29]}]
  ]

  setup_all do
    names = for {name, args} <- @calls, uniq: true, do: {name, length(args)}

    functions =
      for {name, arity} <- names do
        args = Enum.map_join(1..arity//1, ", ", &"x#{&1}")
        "defpure #{name}(#{args}), do: Pricing.#{name}(#{args})\n"
      end

    clauses =
      for {name, arity} <- names do
        args = Enum.map_join(1..arity//1, ", ", &"x#{&1}")
        "{customer, {:#{name}, [#{args}]}} -> send customer, #{name}(#{args})\n"
      end

    source = """
    defmodule Mote.ImportsTest.Shop do
      use Mote.Behaviour, import: [Mote.Imported.Pricing, Mote.Imported.Tax, Mote.Imported.Item, Date]
      alias Mote.Imported.Pricing
      #{functions}
      defactor shop() do
        #{clauses}
        {customer, {:adder, n, x}} -> send customer, {Pricing.adder(n).(x), Enum.map([1, 2], Pricing.adder(n))}
        {customer, {:twice, x}} -> send customer, Pricing.twice(fn x -> x * 10 end, x)
        {customer, :literal} -> send customer, "\#{~D[2020-02-29]} \#{%{a: ~D[2020-02-29]}.a}"
        {customer, {:kept, n}} -> send customer, Pricing.adder(n)
      end
    end
    """

    [{shop, _} | _] = Code.compile_string(source, "shop.ex")
    %{shop: shop}
  end

  for tier <- [:interp, :native] do
    test "are what they are in Elixir: #{tier}", %{shop: shop} do
      machine = start_supervised!({Mote, tier: unquote(tier)})
      actor = Mote.create(machine, shop.shop())

      for {name, args} <- @calls do
        expected = outcome(fn -> apply(Pricing, name, args) end)
        asked = answer(Mote.ask(actor, {name, args}))
        plain = outcome(fn -> apply(shop, name, args) end)
        assert {name, args, asked} === {name, args, expected}
        assert plain === expected
        assert :erlang.term_to_binary(asked) == :erlang.term_to_binary(expected)
      end

      assert Mote.ask!(actor, {:adder, 2, 3}) == {5, [3, 4]}
      assert Mote.ask!(actor, {:twice, 2}) == 200
      assert Mote.ask!(actor, :literal) == "2020-02-29 2020-02-29"
      assert %Mote.Function{arity: 1} = Mote.ask!(actor, {:kept, 3})
    end
  end

  defp outcome(fun) do
    {:value, fun.()}
  rescue
    exception -> {:raised, exception.__struct__, text(exception)}
  catch
    :throw, value -> {:raised, ErlangError, "Erlang error: #{inspect({:nocatch, value})}"}
  end

  defp answer({:ok, value}), do: {:value, value}

  defp answer({:error, %{reason: :aborted, context: %{reason: reason}}}) do
    exception = Mote.Raised.exception(reason)
    {:raised, exception.__struct__, text(exception)}
  end

  # What a function clause error shows beyond the function is known to the process that has raised it.
  defp text(%FunctionClauseError{} = error), do: inspect({error.module, error.function, error.arity})
  defp text(exception), do: Exception.message(exception)

  test "`in` is what it is in Elixir, as later releases spell it, too" do
    {module, _} =
      defined("use Mote.Behaviour, import: [Mote.Imported.Later]", """
      defactor a() do
        {customer, {value, source}} -> send customer, Mote.Imported.Later.within(value, source)
      end
      """)

    for tier <- [:interp, :native] do
      actor = Mote.create(start_supervised!({Mote, tier: tier}, id: tier), module.a())

      for source <- [[1, 2.0], [], 1..3, 3..1//-2, MapSet.new([2]), %{2 => 1}, :no],
          value <- [1, 2, 2.0, {2, 1}] do
        assert answer(Mote.ask(actor, {value, source})) === outcome(fn -> value in source end)
      end
    end
  end

  test "a failure tells of the line where it is", %{shop: shop} do
    machine = start_supervised!(Mote)
    {:error, error} = Mote.ask(Mote.create(machine, shop.shop()), {:total, [@cart, [country: :xx]]})
    line = line("@rates[country]")
    assert error.message =~ "** (ArgumentError) imported.ex:#{line}: no rate of :xx"
    assert {:raised, {Tax, ^line, _}, _} = error.context.reason
  end

  test "what a reason says comes from the module that imports, and not from the reason", %{shop: shop} do
    machine = start_supervised!(Mote)
    {:error, error} = Mote.ask(Mote.create(machine, shop.shop()), {:hinted, [:a]})
    assert {:raised, {Pricing, _, {ArgumentError, :exception}} = place, {key, values}} = error.context.reason
    assert Mote.Raised.format({:raised, place, {key, values}}) =~ ~r/: :a: no tuple, 2 parts$/

    # Code that nobody has compiled; and keys of another version, or of what is not there.
    code = quote(do: send(unquote(Macro.escape(self())), v0))

    for forged <- [code, {shop, 0}, {No.Such, elem(key, 1)}, {Enum, 0}, 7] do
      assert Mote.Raised.format({:raised, place, {forged, {:ran}}}) =~ "(ArgumentError)"
      refute_received :ran
    end
  end

  defp line(text) do
    lines = "../../support/imported.ex" |> Path.expand(__DIR__) |> File.read!() |> String.split("\n")
    Enum.find_index(lines, &(&1 =~ text)) + 1
  end

  test "with errors: :undefined they raise all the same" do
    {module, _} =
      defined("use Mote.Behaviour, import: [Mote.Imported.Pricing], errors: :undefined", """
      defactor a() do
        {customer, x} -> send customer, Mote.Imported.Pricing.field(x)
      end
      """)

    machine = start_supervised!(Mote)
    {:error, error} = Mote.ask(Mote.create(machine, module.a()), %{})
    assert %KeyError{key: :name} = Mote.Raised.exception(error.context.reason)
  end

  defp defined(use, body) do
    name = Module.concat(Mote.ImportsTest, "M#{System.unique_integer([:positive])}")
    Code.compile_string("defmodule #{inspect(name)} do\n#{use}\n#{body}\nend", "imports.ex")
    {name, nil}
  rescue
    error in [Mote.CompileError, ArgumentError] -> {nil, Exception.message(error)}
  end

  test "what cannot be compiled is told of where it is called" do
    use = "use Mote.Behaviour, import: [Mote.Imported.Pricing]"
    file = "test/support/imported.ex"

    for {call, told} <- [
          {"waits(x)",
           "cannot be compiled for a machine: in Mote.Imported.Pricing.waiting/1, #{file}:#{line("    receive do")}: receive is not"},
          {"known(x)",
           "#{file}:#{line("def known")}: function_exported? is not available in a behaviour: which code"},
          {"exported(x, :rate)", "#{file}:#{line("def exported")}: function_exported? is not available in"},
          {"own_process()", "#{file}:#{line("def own_process")}: self() cannot be used"},
          {"total(x, country: :de)", "name the module in use Mote.Behaviour, import: [Mote.Imported.Tax]"},
          {"of_module(x, :de)", "the module of a call must be known when compiling, got: module"},
          {"hidden(x)", "Pricing.hidden/1 cannot be compiled for a machine: it is private there"},
          {"totl(x)", "undefined function Mote.Imported.Pricing.totl/1. Did you mean total/1"}
        ] do
      {_, message} = defined(use, "defpure f(x), do: {x, Mote.Imported.Pricing.#{call}}")
      assert message =~ ~r/imports\.ex:3:(\d+:)? /, "#{call}: #{message}"
      assert message =~ told, "#{call}: #{message}"
      # One mistake, one message.
      refute message =~ "\n", "#{call}: #{message}"
    end
  end

  test "a module whose name ends like one of the library is none of it" do
    for {module, constant?} <- [{"Date", true}, {"Mote.Imported.Date", false}] do
      {_, message} =
        defined("use Mote.Behaviour, import: [Mote.Imported.Date]", """
        defactor kept(), to: keeper(#{module}.new(2020, 1, 2))
        defactor keeper(x), do: (customer -> send customer, x)
        """)

      if constant?,
        do: assert({module, message} == {module, nil}),
        else: assert(message =~ "can only have captures and constants as arguments")
    end
  end

  test "what nobody calls is not looked at" do
    assert {module, _} =
             defined(
               "use Mote.Behaviour, import: [Mote.Imported.Pricing]",
               "defpure f(x), do: Mote.Imported.Pricing.shown(x)"
             )

    # As much as is called, and nothing else.
    assert names(module) == [
             {"Mote.Imported.Pricing.hidden", 1},
             {"Mote.Imported.Pricing.shown", 1},
             {"f", 1}
           ]
  end

  defp names(module) do
    {functions, _} = :erlang.binary_to_term(module.__mote__(:lines))
    functions |> Enum.map(fn {{name, arity}, _, _, _} -> {to_string(name), arity} end) |> Enum.sort()
  end

  test "the option wants modules without behaviours" do
    for {modules, told} <- [
          {"[7]", "import: wants modules, [MyApp.Pricing], got: 7"},
          {"[No.Such]", "import: there is no module No.Such, or it waits for this one"},
          {"[Mote.Library]", "import: Mote.Library says use Mote.Behaviour"},
          {":all", "takes the options errors:"}
        ] do
      {_, message} = defined("use Mote.Behaviour, import: #{modules}", "")
      assert message =~ told
    end
  end

  # As in a project that is compiled for the first time: the module is in memory, and has no file yet.
  @tag :tmp_dir
  test "a module that is not in a file yet is read from its source", %{tmp_dir: dir} do
    file = Path.join(dir, "fresh.ex")

    File.write!(file, """
    defmodule Mote.ImportsTest.Around do
      alias Mote.Imported.Tax, as: T
      defmodule Beside do
        defstruct [:a]
      end

      defmodule Fresh do
        import Enum, only: [sum: 1]
        defmodule Inside, do: defstruct([:b])
        defmodule __MODULE__.Other, do: nil
        @factor 10
        def value(xs), do: {sum(xs) * @factor, T.rate(:de), %Beside{a: 1}, %Inside{b: private(xs)}}
        defp private(xs), do: length(xs)
        defprotocol Shown, do: def(shown(x))
      end
    end
    """)

    loaded = Code.compile_file(file)
    refute :code.get_object_code(Mote.ImportsTest.Around.Fresh) != :error
    versions = for {module, _} <- loaded, do: {module, module.module_info(:md5)}
    use = "use Mote.Behaviour, import: [Mote.ImportsTest.Around.Fresh, Mote.Imported.Tax]"
    body = "defactor a() do\n{customer, xs} -> send customer, Mote.ImportsTest.Around.Fresh.value(xs)\nend"

    output = capture_io(:stderr, fn -> send(self(), defined(use, body)) end)

    # Others may write at the same time. Elixir 1.20 knows no module that is in memory alone, and says so of the plain form.
    refute output =~ ~r/fresh\.ex|redefining module Mote.ImportsTest.Around/
    assert_received {module, _}
    machine = start_supervised!(Mote)

    assert Mote.ask!(Mote.create(machine, module.a()), [1, 2]) ===
             apply(Mote.ImportsTest.Around.Fresh, :value, [[1, 2]])

    # Nothing has been loaded again.
    assert versions == for({module, _} <- loaded, do: {module, module.module_info(:md5)})
    refute :erlang.check_old_code(Mote.ImportsTest.Around.Fresh)

    File.rm!(file)
    assert {nil, message} = defined(use, body)
    assert message =~ "has no file with debug information yet"
  end

  @tag :tmp_dir
  test "the guide's example", %{tmp_dir: dir} do
    [{"lib/shop.ex", text}] = Mote.Guide.files("guides/language.md")
    file = Path.join(dir, "shop.ex")
    File.write!(file, text)
    Code.compile_file(file)
    shop = Mote.create(start_supervised!(Mote), apply(Shop, :shop, [0]))
    assert Mote.ask!(shop, {:buy, [{100, 2}, {10, 10}], :de}) == {345, ~D[2024-03-05]}
    for module <- [Shop, Pricing], do: Mote.Compile.purge(module)
  end

  @tag :tmp_dir
  test "a module without debug information says what to do", %{tmp_dir: dir} do
    [{module, binary}] =
      Code.compile_string("defmodule Mote.ImportsTest.Stripped, do: def(f(x), do: x)", "stripped.ex")

    {:ok, {_, binary}} = :beam_lib.strip(binary)
    File.write!(Path.join(dir, "#{module}.beam"), binary)
    Code.prepend_path(dir)
    :code.purge(module)
    :code.delete(module)

    {_, message} =
      defined("use Mote.Behaviour, import: [#{inspect(module)}]", "defpure f(x), do: #{inspect(module)}.f(x)")

    Code.delete_path(dir)
    assert message =~ "Mote.ImportsTest.Stripped has been compiled without debug information"
    assert message =~ "debug_info: true"
  end
end
