defmodule Mote.Behaviour.DelegateTest do
  # `defactor name(captures), to: …`: for Elixir and for behaviours it is the behaviour that it stands for.
  use ExUnit.Case, async: true

  import ExUnit.CaptureIO
  import Mote.Compile, only: [error: 1, error: 2, module: 1, module: 2]

  defp cells, do: module("defactor cell(value, log) do\n{customer, :get} -> send customer, {value, log}\nend")

  defp front(cells) do
    module("""
    @doc "Empty."
    defactor empty(log), to: #{inspect(cells)}.cell(%{}, log)
    defactor full(value, log), to: #{inspect(cells)}.cell(value, log)
    defactor own(value), to: pair([1, {:two}], value)
    defactor sink(), to: ignoring()
    defactor pair(left, right) do
      {customer, :get} -> send customer, {left, right}
    end
    defactor ignoring() do
      _ when false -> nil
    end
    """)
  end

  test "is a function that gives the behaviour" do
    cells = cells()
    front = front(cells)
    assert %Mote.Behaviour{module: ^cells, name: :cell, captures: {%{}, :log}} = front.empty(:log)
    assert front.full(1, 2) == cells.cell(1, 2)
    assert %Mote.Behaviour{module: ^front, name: :ignoring, captures: {}} = front.sink()
    assert front.__mote__(:behaviours) == [pair: 2, ignoring: 0]
    assert front.__mote__(:imports) == [cells]
  end

  test "is replaced where a behaviour creates it or becomes it" do
    cells = cells()
    front = front(cells)

    user =
      module("""
      defactor user(log) do
        {customer, :full} -> send customer, create(#{inspect(front)}.full({:a, log}, self()))
        {customer, :empty} -> send customer, create(#{inspect(front)}.empty(log))
        {_, :become} -> become #{inspect(front)}.full(1, 2)
      end
      """)

    {:ok, machine} = Mote.start_link()
    actor = Mote.create(machine, user.user(:log))
    assert {{:a, :log}, ^actor} = Mote.ask!(Mote.ask!(actor, :full), :get)
    assert {%{}, :log} = Mote.ask!(Mote.ask!(actor, :empty), :get)

    Mote.send(actor, {nil, :become})
    assert Mote.ask!(actor, :get) == {1, 2}

    assert Mote.Compile.turn(user.user(:log), {self(), :full}).creates |> hd() |> elem(1) |> Map.get(:name) ==
             :cell

    assert user.__mote__(:imports) == [cells]
  end

  test "may stand for one of another module that stands for another" do
    cells = cells()
    front = front(cells)
    outer = module("defactor a(log), to: #{inspect(front)}.empty(log)")
    user = module("defactor user() do\nx -> send x, create(#{inspect(outer)}.a(:log))\nend")
    assert outer.a(:log) == cells.cell(%{}, :log)
    assert user.__mote__(:imports) == [cells]
    assert [{_, behaviour}] = Mote.Compile.turn(user.user(), self()).creates
    assert behaviour == cells.cell(%{}, :log)
  end

  test "can be used in the module that defines it" do
    module =
      module("""
      defactor zero(), to: number(0)
      defactor number(n) do
        {customer, :get} -> send customer, n
        {_, :reset} -> become zero()
      end
      """)

    {:ok, machine} = Mote.start_link()
    number = Mote.create(machine, module.number(5))
    Mote.send(number, {nil, :reset})
    assert Mote.ask!(number, :get) == 0
  end

  test "arguments are computed in the order in which they are written" do
    front = front(cells())

    module =
      module(
        "defactor a() do\nx -> create #{inspect(front)}.full(create(b(1)), create(b(2)))\nend\n" <>
          "defactor b(n) do\nx -> send x, n\nend"
      )

    assert [{one, %{captures: {1}}}, {two, %{captures: {2}}}, {_, %{captures: {one, two}}}] =
             Mote.Compile.turn(module.a(), 1).creates
  end

  test "mistakes are errors at their line" do
    for {definition, text} <- [
          {"defactor a(x), to: b(x, x)", "must have each capture once, in their order, got: b(x, x)"},
          {"defactor a(x), to: b(1)", "must have each capture once"},
          {"defactor a(x, y), to: b(y, x)", "must have each capture once"},
          {"defactor a(x), to: b(y)", "can only use captures, and y is none"},
          {"defactor a(x), to: b(x + 1)", "can only have captures and constants as arguments, got: b(x + 1)"},
          {"defactor a(x), to: sink()", "must be a behaviour with code"},
          {"defactor a(x), to: b", "become wants a behaviour with its captures"},
          {"defactor a(x), to: String.b(x)", "String is not a Mote.Behaviour module"},
          {"defactor a(x), to: b(x)", "undefined behaviour b/1"},
          {"defactor a(x), to: a(x)", "a/1 delegates itself"},
          {"defactor a(x), to: c(x)", "the behaviour c has 2 captures, got 1"},
          {"defactor a(1), to: c(1, 2)", "a capture is a plain variable"},
          {"defpure a(x), to: c(x, 1)", "defpure needs a do block"},
          {"defactor a(x), to: c(x, 1)\ndefactor a(x), to: c(x, 2)", "a/1 is already defined"}
        ] do
      assert "3: " <> message = error("#{definition}\ndefactor c(p, q) do\n_ -> send p, q\nend") |> shift(),
             "#{definition}"

      assert message =~ text, "#{definition}: #{message}"
    end
  end

  # The second of two definitions stands on the next line.
  defp shift("2: " <> message), do: "3: " <> message
  defp shift(other), do: other

  test "names that are wrong are compared with delegates as well" do
    front = front(cells())
    assert error("defactor a() do\nx -> create #{inspect(front)}.emty(x)\nend") =~ "Did you mean empty/1?"

    assert error("defactor a() do\nx -> create #{inspect(front)}.empty(x, 1)\nend") =~
             "empty has 1 capture, got 2"

    assert error("defactor a(), to: b(0)\ndefactor b(n) do\nx -> send x, a()\nend") =~ "a/0 is a behaviour"
    assert error("defactor sink() do\nx -> x\nend") =~ "sink is a word of the language"
  end

  test "one whose module is changed by a prelude of aliases is found" do
    cells = cells()
    module = module("defactor a(log), to: Cells.cell(nil, log)", "alias #{inspect(cells)}, as: Cells")
    assert module.a(1) == cells.cell(nil, 1)

    assert error("defactor a(x), to: Cells.cell(x)", "alias #{inspect(cells)}, as: Cells") =~
             "2 captures, got 1"
  end

  test "modules that name one are compiled again when it stands for something else" do
    cells = cells()
    front = front(cells)
    exports = fn module -> module.__info__(:functions) end
    source = fn literal -> "defactor a(), to: b(#{literal})\ndefactor b(n) do\nx -> send x, n\nend" end
    assert exports.(module(source.(1))) == exports.(module(source.(1)))
    assert exports.(module(source.(1))) != exports.(module(source.(2)))

    required =
      required(fn ->
        module("""
        defactor outer(log), to: #{inspect(front)}.empty(log)
        defactor user() do
          {x, 1} -> send x, create(#{inspect(front)}.empty(x))
          {x, 2} -> send x, create(#{inspect(cells)}.cell(x, x))
        end
        """)
      end)

    # By way of it the target is named, too; and a behaviour may become a delegate.
    assert front in required
    assert cells in required
  end

  defmodule Tracer do
    def trace({:require, _meta, module, _opts}, _env) do
      if Process.get(__MODULE__), do: send(self(), {:required, module})
      :ok
    end

    def trace(_event, _env), do: :ok
  end

  # What Mix takes for a reason to compile again. The compiler's tracers see what other tests compile as well, each in
  # the process that does: those hear nothing of it.
  defp required(compile) do
    Process.put(Tracer, true)
    Code.put_compiler_option(:tracers, [Tracer])
    compile.()
    Code.put_compiler_option(:tracers, [])
    Process.delete(Tracer)
    all_required()
  end

  defp all_required do
    receive do
      {:required, module} -> [module | all_required()]
    after
      0 -> []
    end
  end

  # Mix asks once all modules are there: in a cycle of modules one is compiled without having seen the other.
  test "one that could not be seen is told" do
    late = Module.concat(Mote.Compiled, "Late#{System.unique_integer([:positive])}")

    source = """
    defactor early(x) do
      1 -> send x, create(#{inspect(late)}.front(x))
      2 -> become #{inspect(late)}.front(2)
      3 -> become #{inspect(late)}.own(x, 3)
    end
    """

    # What Elixir itself says of what is not there yet depends on its release.
    {early, _warned} = with_io(:stderr, fn -> module(source) end)
    assert told(early) == ""

    Mote.Compile.quietly(
      "defmodule #{inspect(late)} do\nuse Mote.Behaviour, errors: :undefined\ndefactor front(x), to: own(x, 0)\n" <>
        "defactor own(x, y) do\n_ -> send x, y\nend\nend",
      "late.ex"
    )

    text = "#{inspect(late)}.front/1 is another name for #{inspect(late)}.own/2, which cannot be seen here"
    assert [_, first, second] = String.split(told(early), text)
    assert first =~ "test.ex:3:"
    assert second =~ "test.ex:4:"
  end

  # Others may write at the same time: what names the module is about it.
  defp told(module) do
    output = capture_io(:stderr, fn -> Mote.Behaviour.Warnings.undefined(module) end)
    output |> String.split("\n\n") |> Enum.filter(&(&1 =~ inspect(module))) |> Enum.join("\n\n")
  end
end
