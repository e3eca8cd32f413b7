defmodule Mote.Behaviour.DefinitionErrorTest do
  # Definitions, and operands of effects, that cannot be are refused at their line, with what to write instead.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, error: 2]

  # An expression on line 4 of a defpure, and of a clause of a defactor.
  defp pure(expression), do: error("defpure f(x) do\nx\n#{expression}\nend")
  defp actor(expression), do: error("defactor a(x) do\n_ ->\n#{expression}\nend")

  describe "operands of effects" do
    # Modules whose attributes and macros are literals.
    defmodule Constants do
      defmacro logger, do: :logger
      defmacro delay, do: 10
    end

    @prelude "require #{inspect(Constants)}; @name :logger; @delay 10; @parts [:a]; _ = {@name, @delay, @parts}"

    defp effect(source), do: error("defactor a(x) do\n_ ->\n#{source}\nend", @prelude)

    test "that cannot be what they are for are refused" do
      for {source, usage, operand, what} <- [
            {"send :logger, x", "send takes target, message", ":logger", "target"},
            {"send @name, x", "send takes target, message", ":logger", "target"},
            {"send #{inspect(Constants)}.logger(), x", "send takes target, message", ":logger", "target"},
            {"send nil, x", "send takes target, message", "nil", "target"},
            {"send 7, x", "send takes target, message", "7", "target"},
            {"send 1.5, x", "send takes target, message", "1.5", "target"},
            {"send [], x", "send takes target, message", "[]", "target"},
            {"send [x], x", "send takes target, message", "[x]", "target"},
            {"send @parts, x", "send takes target, message", "[:a]", "target"},
            {"send {:name, :node}, x", "send takes target, message", "{:name, :node}", "target"},
            {"send {x, 1}, x", "send takes target, message", "{x, 1}", "target"},
            {"send \"x\", x", "send takes target, message", "\"x\"", "target"},
            {"send %{}, x", "send takes target, message", "%{}", "target"},
            {"send %{to: x}, x", "send takes target, message", "%{to: x}", "target"},
            {"send 1 + 2, x", "send takes target, message", "3", "target"},
            {"send_after(x, :hello, 10)", "send_after takes milliseconds, target, message", ":hello",
             "target"},
            {"send_after(x, :hello, @delay)", "send_after takes milliseconds, target, message", ":hello",
             "target"},
            {"send_after(-1, x, 1)", "send_after takes milliseconds, target, message", "-1", "delay"},
            {"send_after(1.5, x, 1)", "send_after takes milliseconds, target, message", "1.5", "delay"},
            {"send_after(:never, x, 1)", "send_after takes milliseconds, target, message", ":never", "delay"},
            {"send_after({1, :second}, x, 1)", "send_after takes milliseconds, target, message",
             "{1, :second}", "delay"},
            {"sendx(x, :main, 1)", "sendx takes sponsor, target, message", ":main", "target"},
            {"sendx(\"main\", x, 1)", "sendx takes sponsor, target, message", "\"main\"", "sponsor"},
            {"sendx({x, x}, x, 1)", "sendx takes sponsor, target, message", "{x, x}", "sponsor"},
            {"create a(1), sponsor: 2", "create takes a behaviour, sponsor: name", "2", "sponsor"}
          ] do
        assert "4: " <> message = effect(source)
        assert message =~ "#{usage}: #{operand} is not a #{what}", "#{source}: #{message}"
      end
    end

    test "that may be what they are for are not" do
      for source <- [
            "send x, :logger",
            "send self(), 1",
            "send elem(x, 0), 1",
            "send x.to, 1",
            "send hd(x), 1",
            "send on(:main, x), 1",
            "send create(a(1)), 1",
            "send if(x, do: x), 1",
            "send send(x, 1), 1",
            "send Map.get(x, :to), 1",
            "y = :undefined; send y, 1",
            "send_after(0, x, :hello)",
            "send_after(@delay, x, @name)",
            "send_after(#{inspect(Constants)}.delay(), x, #{inspect(Constants)}.logger())",
            "send_after(x, x, x)",
            "send_after(1 + x, x, 1)",
            "sendx(:main, x, 1)",
            "sendx(@name, x, 1)",
            "sendx(x, x, 1)",
            "sendx(nil, x, 1)",
            "create a(1), sponsor: :main",
            "create a(1), sponsor: x"
          ] do
        assert effect(source) == :compiled, source
      end
    end
  end

  describe "definitions" do
    test "names" do
      for name <- ~w(self send create become sink abort on case) do
        assert error("defactor #{name}(x) do\n_ -> x\nend") ==
                 "2: #{name} is a word of the language: choose another name"
      end

      assert error("defpure abs(x), do: x") == "2: abs/1 is a primitive of the language: choose another name"

      assert error("defactor a(x) do\n_ -> x\nend\ndefactor a(y) do\n_ -> y\nend") ==
               "5: a/1 is already defined"

      assert error("defactor a(x) do\n_ -> x\nend\ndefpure a(y), do: y") == "5: a/1 is already defined"
      assert error("def a(x), do: x\ndefpure a(y), do: y") == "3: a/1 is already defined with def"

      # What is stashed is a capture that nobody has written.
      {stashing, other} = {"defactor a(x) do\n_ -> stash()\nend\n", "defactor a(x, y) do\n_ -> {x, y}\nend\n"}

      for {source, line} <- [{stashing <> other, 5}, {other <> stashing, 5}] do
        assert error(source) ==
                 "#{line}: a/2 is already defined: a behaviour that stashes has one capture more than are written, for the messages"
      end

      assert error(stashing <> stashing) == "5: a/1 is already defined"

      for verb <- ["create", "become"] do
        given = "defactor b(x) do\n_ -> #{verb} a(x, 1)\nend"
        assert error(stashing <> given) == "6: the behaviour a has 1 capture, got 2"
      end

      assert error("defactor a(x) do\n1 -> stash()\n_ -> become y: 1\nend") =~
               ~r/^4: a has no capture y, it has x(\.|$)/

      assert error("defactor a(x, y \\\\ 1) do\n_ -> stash(y: x)\nend\ndefactor a(x) do\n_ -> x\nend") ==
               "5: a/1 is already defined: a/2 with its defaults is a/1, too"

      assert error("defpure 7, do: 8") =~ "2: cannot define 7: write defpure name(argument) do"
    end

    test "captures" do
      assert error("defactor a({x, y}) do\n_ -> x\nend") =~ "2: a capture is a plain variable, not {x, y}"
      assert error("defactor a(_) do\n_ -> 1\nend") =~ "2: a capture is a plain variable, not _"
      assert error("defactor a(x, x) do\n_ -> 1\nend") == "2: the capture x appears twice"
      assert error("defactor a(x) when x > 1 do\n_ -> 1\nend") =~ "2: a defactor has no guard"
    end

    test "bodies" do
      assert error("defactor a(x) do\nend") =~ "2: the body of a defactor consists of clauses"
      assert error("defactor a(x) do\nx\nend") =~ "2: the body of a defactor consists of clauses"

      assert error("defactor a(x) do\n1, 2 -> x\nend") =~
               "3: a clause matches one value here, this one has 2 patterns"

      assert error("defactor a() do\nx -> x\nrescue\n_ -> 1\nend") =~ "rescue is not available there"
    end

    test "clauses" do
      for subject <- ["case x", "cond"], body <- ["", "1", "1; 2", ":->"] do
        what = hd(String.split(subject))

        assert "4: the body of " <> message = pure("#{subject} do #{body} end")
        assert message =~ ~r/^#{what} consists of clauses, (pattern|condition) -> body$/
      end

      assert pure("case x, do: 1") =~ "4: the body of case consists of clauses"
      assert pure("case x do -> 1 end") =~ "4: a clause matches one value here, this one has 0 patterns"
      assert pure("cond do -> 1 end") =~ "4: a cond clause has one condition"
    end

    test "loops" do
      assert pure("for y <- x, unique: true, do: y") =~
               "4: for takes no unique: in a behaviour; there are into:, reduce: and uniq:"

      assert pure("for y <- x, into: [], reduce: 0, do: (a -> a)") =~
               "4: for takes into: or reduce:, not both"

      assert pure("for y <- x, reduce: 0, do: y") =~ "4: the body of for with reduce: consists of clauses"
      assert pure("for x, do: x") =~ "4: for must start with a generator"
      assert pure("for <<c, r::binary <- x>>, do: {c, r}") =~ "4: a binary without a size takes all there is"
      assert pure("for <<c::129 <- x>>, do: c") =~ "4: an integer segment has 0 to 128 bits, not 129"
      assert pure("for <<c, d>>, do: {c, d}") =~ "4: for must start with a generator"
      assert pure("Enum.map(x, :f)") =~ "4: this loop wants a function of 1 argument, such as fn … end"
      assert pure("Enum.reduce(x, 0, [1])") =~ "4: this loop wants a function of 2 arguments"
      assert pure("Enum.reduce(x, 0, fn y -> y end)") =~ "4: this loop calls its function with 2 arguments"
      assert pure("Enum.map(x, &(&1 + &2))") =~ "4: this loop calls its function with 1 argument"
    end

    test "in" do
      assert pure("x in 1..3//y") =~ "4: "
      assert pure("x in 1..3//x") =~ "the step of a range on the right of in must be a literal integer"
    end

    test "too many values at once" do
      names = Enum.map_join(1..600, ", ", &"v#{&1}")
      sum = Enum.map_join(1..600, " + ", &"v#{&1}")
      too_many = "2: f/1 needs more than 512 registers"
      assert error("defpure f(x) do\n{#{names}} = x\n#{sum}\nend") =~ too_many
      one_by_one = Enum.map_join(1..600, "\n", &"v#{&1} = x * #{&1}")
      assert error("defpure f(x) do\n#{one_by_one}\n#{sum}\nend") =~ too_many
      pairs = Enum.map_join(1..300, "\n", &"{v#{2 * &1 - 1}, v#{2 * &1}} = elem(x, #{&1})")
      assert error("defpure f(x) do\n#{pairs}\n#{sum}\nend") =~ too_many
    end

    test "too many captures, arguments and variables of a loop" do
      names = fn n -> Enum.map_join(1..n, ", ", &"v#{&1}") end
      xs = fn n -> Enum.map_join(1..n, ", ", fn _ -> "x" end) end
      captures = "2: a defactor has at most 254 captures, not 255: put them into a tuple or a map"
      assert error("defactor a(#{names.(254)}) do\n_ -> _ = {#{names.(254)}}\nend") == :compiled
      assert error("defactor a(#{names.(255)}) do\n_ -> {#{names.(255)}}\nend") == captures
      assert error("defactor a(#{names.(255)}), to: b(#{names.(255)})") == captures
      assert error("defactor a(#{names.(254)}), to: b(#{names.(254)}, 1)") == captures
      assert actor("create a(#{xs.(256)})") =~ "4: a defactor has at most 254 captures"
      assert actor("become Mote.Later.a(#{xs.(256)})") =~ "4: a defactor has at most 254 captures"

      arguments = "a defpure has at most 255 arguments, not 256: put them into a tuple or a map"
      assert error("defpure f(#{names.(255)}), do: {#{names.(255)}}") == :compiled
      assert error("defpure f(#{names.(256)}), do: {#{names.(256)}}") == "2: " <> arguments
      assert pure("f(#{xs.(256)})") == "4: " <> arguments
      assert pure("Mote.Later.f(#{xs.(256)})") == "4: " <> arguments

      loop = fn n -> "{#{names.(n)}} = x; for y <- x, do: {y, #{names.(n)}}" end
      assert pure(loop.(253)) == :compiled

      assert pure(loop.(254)) ==
               "4: a loop can use 253 variables from around it here, not 254: put them into a tuple or a map"
    end

    test "options of use" do
      assert_raise ArgumentError, ~r/takes the options errors/, fn ->
        Code.compile_string("defmodule #{inspect(__MODULE__)}.Bad do use Mote.Behaviour, a: 1 end")
      end
    end
  end
end
