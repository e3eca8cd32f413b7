defmodule Mote.Behaviour.MessagesTest do
  # What somebody writes who comes from Elixir, as it is written there: either it works, as there, or the message says what to
  # write instead.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, error: 2, module: 3, warnings: 2]

  @machine [id: __MODULE__, tier: :native]

  defp answers(body, prelude \\ "") do
    module = module(body, prelude, :abort)
    machine = start_supervised!({Mote, @machine})
    answer = Mote.ask(Mote.create(machine, module.a()), 7)
    stop_supervised!(__MODULE__)
    answer
  end

  defp actor(expression), do: "defactor a() do\n{customer, x} -> send customer, (#{expression})\nend"

  test "works" do
    for {expression, expected} <- [
          {"x ** 2", 49},
          {"Integer.pow(x, 3)", 343},
          {"Integer.mod(-x, 3)", 2},
          {"Float.round(x / 3, 2)", 2.33},
          {"for i <- [x, 2], into: %{}, do: {i, 1}", %{7 => 1, 2 => 1}},
          {"for i <- [x, 2], into: MapSet.new(), do: i", MapSet.new([2, 7])},
          {"for i <- [x, 2], into: \"\", do: <<i>>", <<7, 2>>},
          {"get_in(%{a: %{b: x}}, [:a, :b])", 7},
          {"Enum.at([:none, x], 1)", 7},
          {"Enum.at([x], 5, :none)", :none},
          {"List.duplicate(x, 3)", [7, 7, 7]}
        ],
        do: assert({expression, answers(actor(expression))} == {expression, {:ok, expected}})
  end

  test "works where it is about effects and definitions" do
    for {body, expected} <- [
          {"defactor a() do\n{customer, x} -> x |> then(&send(customer, &1))\nend", 7},
          {"defactor a() do\n{customer, x} -> customer |> then(&send(&1, x))\nend", 7},
          {"defpure g(x, y \\\\ 2), do: x + y\n" <> actor("g(x)"), 9},
          {"defpurep g(x, y \\\\ 2), do: x + y\n" <> actor("g(x, 3)"), 10},
          {"defeffect g(to, x \\\\ :default), do: send(to, x)\ndefactor a() do\n{customer, _} -> g(customer)\nend",
           :default},
          {"defactor b(x, y \\\\ 3) do\n{customer, z} -> send customer, x + y + z\nend\n" <>
             "defactor a() do\n{customer, x} -> send create(b(1)), {customer, x}\nend", 11}
        ],
        do: assert({body, answers(body)} == {body, {:ok, expected}})
  end

  test "is told what to write instead" do
    for {body, told} <- [
          {actor("Logger.info(x)"),
           ~r/^3: Logger.info\/1 is not available in a behaviour: send it to a BEAM process that does it, mark the behaviour beam: true, or use Mote.Library.Beam/},
          {"defp g(x), do: x\n" <> actor("g(x)"), ~r/^4: g\/1 is defined with defp: write defpurep/},
          {"def g(x), do: x\n" <> actor("g(x)"), ~r/^4: g\/1 is defined with def: write defpure/},
          {actor("send_after(self(), x, 100)"),
           ~r/^3: send_after takes milliseconds, target, message: self\(\) is not a delay/},
          {actor("Process.send_after(self(), x, 100)"),
           ~r/write send_after\(milliseconds, target, message\)/},
          {actor("f = fn y -> send y, 1 end\nf.(x)"),
           ~r/^3: send cannot be used in a function that is a value: such a function has no effects/},
          {"defeffect e(y), do: send(y, 1)\n" <> actor("f = &e/1\nf.(x)"),
           ~r/^4: e\/1 is a defeffect, and a function that is a value has no effects/},
          {actor("Enum.map([x], 7)"), ~r/^3: this loop wants a function of 1 argument, such as fn … end/}
        ] do
      message = error(body)
      assert message =~ told, "#{body}\n#{message}"
    end

    assert error(actor("Logger.info(x)"), "require Logger") =~ "Logger.info/1 is not available in a behaviour"
  end

  test "an import that only behaviours use is used" do
    for body <- [
          actor("x &&& 3"),
          actor("bxor(x, 3)"),
          "defpurep g(x), do: x <<< 3\n" <> actor("g(x)"),
          "defactor a() do\n{customer, x} when (x &&& 1) == 1 -> send customer, x\nend"
        ] do
      assert warnings(body, "import Bitwise") == [], body
      assert {:ok, n} = answers(body, "import Bitwise")
      assert is_integer(n)
    end
  end
end
