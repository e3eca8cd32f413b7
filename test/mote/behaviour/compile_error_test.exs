defmodule Mote.Behaviour.CompileErrorTest do
  # Everything outside of the language is refused at its line, with what to write instead.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, error: 2, module: 1]

  # An expression on line 4 of a defpure, and of a clause of a defactor.
  defp pure(expression), do: error("defpure f(x) do\nx\n#{expression}\nend")
  defp actor(expression), do: error("defactor a(x) do\n_ ->\n#{expression}\nend")

  describe "constructs that do not exist" do
    test "are named with an alternative" do
      for {expression, text} <- [
            {"receive do x -> x end",
             "receive is not available in a behaviour: an actor gets its messages one"},
            {"try do 1 rescue _ -> 2 end",
             "try is not available in a behaviour: what would raise in a behaviour aborts the turn"},
            {"raise \"x\"", "raise is not available in a behaviour: end the turn with abort(reason)"},
            {"throw :x", "throw is not available"},
            {"exit(:x)", "exit is not available"},
            {"spawn(fn -> 1 end)", "spawn is not available in a behaviour: make an actor with create"},
            {"with {:ok, y} <- x", "with needs a do block, and takes an else block behind it, nothing else"},
            {"with {:ok, y} <- x, do: y, else: 1", "the body of else consists of clauses, pattern -> body"},
            {"%Range{x | start: 1}", "%Range{} has no key :start"},
            {"%Range{first: 1}",
             "the following keys must also be given when building struct Range: [:last, :step]"},
            {"struct!(Range, x)",
             "the following keys must also be given when building struct Range: [:first, :last, :step]"},
            {":queue.fold(&(&1 + &2), 0, x)", "what there is of :queue is listed in Mote.Behaviour"},
            {"%Range{start: 1}", "%Range{} has no key :start"},
            {"get_in(x, [Access.key(:a)])",
             "Access.key/1 is not available in a behaviour: what it returns is a function"},
            {"update_in(x, &(&1 + 1))", "update_in/2 takes a path, such as map.key or map[key], got: x"},
            {"pop_in(x.a)", "pop_in/1 cannot take the field .a out of its map"},
            {"<<x::bits-size(4)>>", "a segment of bits has whole bytes here: write binary-size(n)"},
            {"<<x::bits-size(x)>>", "a segment of bits has whole bytes here: write binary-size(n)"},
            {"<<x::utf16>>", "utf16 is not available in a segment"},
            {"<<x::7>>", "a binary has whole bytes, these segments have 7 bits"},
            {"<<x::129>>", "an integer segment has 0 to 128 bits, not 129"},
            {"<<x::float-16>>", "a float segment has 32 or 64 bits"},
            {"<<x::utf8-size(2)>>", "a utf8 segment has neither size nor unit"},
            {"<<x::binary-size(2)-unit(4)>>", "the unit of a binary segment is a multiple of 8"},
            {"fn y -> y end", "functions are not values here"},
            {"y = &(&1 + 1)", "functions are not values here"},
            {"&f/1", "functions are not values here"},
            {"x.(1)", "x.(…) is not available in a behaviour: functions are not values here"},
            {"x.name()", "the module of a call must be known when compiling, got: x"},
            {"apply(x, [1])", "apply is not available"},
            {"quote do x end", "quote is not available"},
            {"import Enum", "import is not available in a behaviour: write it at the top of the module"},
            {"System.monotonic_time()",
             "System.monotonic_time wants a unit that is known when compiling, one of :nanosecond, :microsecond, " <>
               ":millisecond, :second, got: none"},
            {"System.monotonic_time(:native)", "known when compiling, one of :nanosecond"},
            {"System.monotonic_time(x)", "got: x"},
            {"System.system_time(:second)", "there is System.monotonic_time(unit)"},
            {"IO.puts(x)",
             "IO.puts/1 is not available in a behaviour: send it to a BEAM process that does it"},
            {"IO.inspect(x)", "Mote.trace/2 shows what turns do"},
            {"require Logger; Logger.info(x)", "write it at the top of the module"},
            {"Logger.info(x)", "Logger.info/1 is not available in a behaviour: send it to a BEAM process"},
            {"Process.send_after(x, 1, 2)",
             "Process.send_after/3 is not available in a behaviour: write send_after(milliseconds, target, message)"},
            {"Process.sleep(100)",
             "Process.sleep/1 is not available in a behaviour: an actor does not wait: write send_after"},
            {":timer.sleep(100)", "an actor does not wait: write send_after(milliseconds, self(), message)"},
            {"GenServer.call(x, 1)", "the answer comes as a message"},
            {"GenServer.cast(x, 1)",
             "GenServer.cast/2 is not available in a behaviour: write send target, message"},
            {":erlang.term_to_binary(x)", "send the term as it is"},
            {"Agent.get(x, & &1)", "an actor keeps its state in its captures"},
            {"Task.async(fn -> 1 end)",
             "Task.async/1 is not available in a behaviour: write create name(…) for each"},
            {"Stream.map(x, & &1)", "write the function of Enum of that name"},
            {"Regex.match?(x, x)",
             "Regex.match?/2 is not available in a behaviour: there are no regexes in a machine"},
            {"String.split(x, ~r/,/)", "a regex is not available in a behaviour: use patterns of binaries"},
            {"x =~ ~R/a/", "a regex is not available in a behaviour"},
            {"String.to_atom(x)", "String.to_atom/1 is not available in a behaviour: atoms are never freed"},
            {"DateTime.utc_now()",
             "DateTime.utc_now/0 is not available in a behaviour: a turn that runs again"},
            {"Date.utc_today()", "a turn that runs again must do the same again"},
            {"Date.add(x, 1)", "Date.add/2 is not available in a behaviour: calculate with integers"},
            {":ets.lookup(x, 1)", "a map takes the place of a table"},
            {"Enum.mpa(x, & &1)", "Enum.mpa/2 is not available in a behaviour. Did you mean Enum.map/2"},
            {"Enum.map(x)", "Enum.map/1 is not available in a behaviour. Did you mean Enum.map/2"},
            {"Enum.qqq(x)",
             "Enum.qqq/1 is not available in a behaviour; what there is of Enum is listed in Mote.Behaviour"},
            {"Enum.max_by(x, & &1, Date)",
             "max_by wants a literal function here, fn … end or a & capture, got: Date"},
            {"Enum.sort(x, {:asc, Date})", "sort wants a literal function here"},
            {"Integer.prase(x)",
             "Integer.prase/1 is not available in a behaviour. Did you mean Integer.parse/1"},
            {"becom(x)", "Did you mean become/1?"},
            {"sned x, 1", "Did you mean send/2"},
            {"Mote.send(x, 1)",
             "Mote.send/2 is not available in a behaviour, which runs in a machine: write send target"},
            {"Mote.on(:main, x)",
             "Mote.on/2 is not available in a behaviour, which runs in a machine: write on(sponsor"},
            {"Mote.ask(x, 1)",
             "Mote.ask/2 is not available in a behaviour, which runs in a machine: a behaviour can"},
            {"Map.get_and_update(x, 1, x)", "get_and_update wants a literal function here"},
            {"String.jaro_distance(x, x)",
             "String.jaro_distance/2 is not available in a behaviour; what there is of String"},
            {"Integer.is_odd(x)",
             "Integer.is_odd/1 is a macro: write require Integer at the top of the module"},
            {":math.tau()", ":math.tau/0 is not available"},
            {":erlang.now()", ":erlang.now/0 is not available in a behaviour: a turn that runs again"},
            {":lists.merge(x, x)", ":lists.merge/2 is not available"},
            {"inspect(x)", "inspect is not available"},
            {"_", "_ can only be used in a pattern"},
            {"^x", "a pinned variable belongs into a pattern"},
            {":binary.referenced_byte_size(x)",
             ":binary.referenced_byte_size/1 is not available in a behaviour; what there is of :binary"},
            {"send x", "send with 1 argument does not exist: write send target, message"}
          ] do
        assert "4: " <> message = pure(expression)
        assert message =~ text, "#{expression}: #{message}"
      end
    end

    test "in patterns" do
      for {pattern, text} <- [
            {"%{y => z}", "y cannot be a key in a pattern"},
            {"%{{1, -0.0} => z}", "{1, -0.0} cannot be a key in a pattern"},
            {"<<y::binary, z>>", "a binary without a size must be the last segment"},
            {"<<y::size(x + 1)>>",
             "the size of a segment is an integer or a variable in a pattern, not x + 1"},
            {"<<{y}>>", "a segment of a pattern is a literal, a variable, _ or ^pinned"},
            {"<<y::size(z)>>", "undefined variable \"z\""},
            {"y <> \"a\"", "a binary without a size must be the last segment"},
            {"%Range{start: y}", "%Range{} has no key :start"},
            {"^hd(y)", "only a variable can be pinned"},
            {"y + 1", "cannot use y + 1 in a pattern"},
            {"f(y)", "cannot use f(y) in a pattern"}
          ] do
        assert "4: " <> message = pure("#{pattern} = x")
        assert message =~ text, "#{pattern}: #{message}"
      end
    end

    test "in guards" do
      for {guard, text} <- [
            {"f(y)", "f/1 cannot be used in a guard"},
            {"y && true", "&& cannot be used in a guard"},
            {":rand.uniform() > 1", ":rand.uniform cannot be used in a guard"},
            {"System.monotonic_time(:second) > 1", "System.monotonic_time cannot be used in a guard"},
            {"self() == y", "self() cannot be used in a guard"},
            {"(z = y)", "= cannot be used in a guard"},
            {"y in x", "in a guard the right side of in must be a literal list or range"},
            {"!y", "! cannot be used in a guard"}
          ] do
        assert "4: " <> message = actor("case x do y when #{guard} -> y end")
        assert message =~ text, "#{guard}: #{message}"
      end
    end
  end

  describe "names" do
    test "variables" do
      assert pure("y + 1") == "4: undefined variable \"y\""
      assert pure("self") == "4: undefined variable \"self\"; did you mean self()?"
      assert error("defactor a(counter) do\n_ -> send countr, 1\nend") =~ "Did you mean counter?"
      assert pure("if x do y = 1 end\ny") == "5: undefined variable \"y\""
      assert pure("^y = x") == "4: undefined variable \"y\""
      assert pure("Enum.map(x, fn y -> y end)\ny") == "5: undefined variable \"y\""
    end

    test "functions" do
      assert pure("lenght(x)") =~
               ~r|4: undefined function lenght/1: a behaviour can call .*Did you mean length/1|

      assert pure("f(x, 1)") =~ "undefined function f/2"
      assert pure("f(x, 1)") =~ "there is f/1"

      assert error("def g(x), do: x\ndefpure f(x), do: g(x)") ==
               "3: g/1 is defined with def: write defpure, which behaviours can call, too"

      assert error("defp g(x), do: x\ndefpure f(x), do: g(x)") =~ "g/1 is defined with defp: write defpurep"

      assert error("defactor a() do\n_ -> a()\nend") =~
               "3: a/0 is a behaviour: use create a(…) or become a(…)"

      other = module("defpure double(x), do: x")

      assert pure("#{inspect(other)}.duble(x)") =~
               "undefined function #{inspect(other)}.duble/1. Did you mean double/1?"

      assert pure("URI.encode(x)") =~ "URI.encode/1 cannot be called: "

      assert pure("URI.encode(x)") =~
               "URI is not a Mote.Behaviour module: write the function there with defpure"
    end

    test "behaviours" do
      assert actor("create b(1)") == "4: undefined behaviour b/1"
      assert actor("become a()") == "4: the behaviour a has 1 capture, got 0"

      assert actor("create x") =~
               "create wants a behaviour with its captures, such as create x(…); x is a variable"

      assert actor("create 7") =~ "create and become want a behaviour with its captures"
      assert actor("create {1, 2}") =~ "create and become want a behaviour"
      assert actor("create a(1), on: 2") =~ "create takes one option, sponsor: name"
      assert actor("create Enum.b(1)") =~ "Enum is not a Mote.Behaviour module"
      other = module("defactor ping(a) do\n_ -> a\nend")

      assert actor("create #{inspect(other)}.pong(1)") =~
               "undefined behaviour #{inspect(other)}.pong/1. Did you mean ping/1?"

      assert actor("create #{inspect(other)}.ping()") =~ "has 1 capture, got 0"
    end
  end

  describe "purity" do
    test "effects are for defactor" do
      for {effect, name} <- [
            {"send x, 1", "send"},
            {"self()", "self()"},
            {"become sink()", "become"},
            {"create sink()", "create"},
            {"sendx x, x, 1", "sendx"},
            {"send_after(1, x, 2)", "send_after"},
            {"cancel_timer(x)", "cancel_timer"}
          ] do
        assert "4: " <> message = pure(effect)
        assert message =~ "#{name} cannot be used in a defpure", message
      end
    end
  end

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

      assert error("defpure a(x) do\nx\nrescue\n_ -> 1\nend") =~ "rescue is not available"
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
      assert pure("Enum.map(x, x)") =~ "4: this loop wants a literal function of 1 argument"
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
      captures = "2: a defactor has at most 255 captures, not 256: put them into a tuple or a map"
      assert error("defactor a(#{names.(255)}) do\n_ -> {#{names.(255)}}\nend") == :compiled
      assert error("defactor a(#{names.(256)}) do\n_ -> {#{names.(256)}}\nend") == captures
      assert error("defactor a(#{names.(256)}), to: b(#{names.(256)})") == captures
      assert error("defactor a(#{names.(255)}), to: b(#{names.(255)}, 1)") == captures
      assert actor("create a(#{xs.(256)})") =~ "4: a defactor has at most 255 captures"
      assert actor("become Mote.Later.a(#{xs.(256)})") =~ "4: a defactor has at most 255 captures"

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
      assert_raise ArgumentError, ~r/takes the option errors/, fn ->
        Code.compile_string("defmodule #{inspect(__MODULE__)}.Bad do use Mote.Behaviour, a: 1 end")
      end
    end
  end

  test "the file is named" do
    assert_raise Mote.CompileError, ~r/^test.ex:3: undefined variable/, fn ->
      module("defpure f(x) do\ny\nend")
    end
  end

  test "node/1 of Kernel is not in the way" do
    module = module("defactor node(parent) do\n_ -> create node(parent)\nend")
    assert %Mote.Behaviour{name: :node, captures: {1}} = module.node(1)
  end

  test "docs are passed on, with a default" do
    source = """
    defmodule Mote.Compiled.Docs do
      use Mote.Behaviour, errors: :undefined
      @doc "Mine."
      defactor mine(a) do
        _ -> a
      end
      defactor other(a, b) do
        _ -> {a, b}
      end
      @doc false
      defpure hidden(x), do: x
      @doc "Sums."
      defpure sum([]), do: 0
      defpure sum([h | t]), do: h + sum(t)
    end
    """

    docs = Code.get_compiler_option(:docs)
    Code.put_compiler_option(:docs, true)
    [{_, binary}] = Code.compile_string(source)
    Code.put_compiler_option(:docs, docs)
    path = Path.join(System.tmp_dir!(), "Elixir.Mote.Compiled.Docs.beam")
    File.write!(path, binary)
    {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(path)
    File.rm!(path)
    docs = for {{:function, name, arity}, _, _, doc, _} <- docs, do: {{name, arity}, doc}
    docs = Map.new(docs)
    assert docs[{:mine, 1}] == %{"en" => "Mine."}
    assert docs[{:other, 2}]["en"] =~ "The behaviour `other(a, b)`"
    assert docs[{:hidden, 1}] == :hidden
    assert docs[{:sum, 1}] == %{"en" => "Sums."}
    assert docs[{:"mote sum", 1}] in [:hidden, nil]
  end

  test "no warnings of Elixir about what is generated, also for what would be odd in plain Elixir" do
    import ExUnit.CaptureIO

    output =
      capture_io(:stderr, fn ->
        module("""
        defactor a(unused, n) do
          {:x, y} -> case 1 do 1 -> :ok; 2 -> :never end
          z when n == 1 and 1 == 2 -> if false do 1 else 2 end
          _ -> 7; abort(:a); send n, 1
          _ -> :never
        end
        defpure f(x) do
          1 + 2
          {x, y} = {1, :a}
          1 + :a
        end
        """)
      end)

    # Others may write at the same time.
    refute output =~ "test.ex"
  end

  describe "several mistakes" do
    test "are told together, those of each definition, clause and line" do
      assert %Mote.CompileError{line: 4, description: description} =
               catch_error(
                 module("""
                 defactor a(b) do
                   1 ->
                     IO.puts(b)
                     spawn(b)
                   2 -> receive do x -> x end
                   3 -> send b, 1
                 end
                 defpure f(x), do: File.read(x)
                 """)
               )

      assert [first, second, third, fourth] = String.split(description, "\n")
      assert first =~ "IO.puts/1 is not available"
      assert second =~ ~r/^  .*test.ex:5: spawn is not available/
      assert third =~ ~r/^  .*test.ex:6: receive is not available/
      assert fourth =~ ~r/^  .*test.ex:9: File.read\/1 is not available/
    end

    test "of names as well" do
      assert %Mote.CompileError{line: 3, description: description} =
               catch_error(module("defactor a() do\n1 -> send b, 1\n2 -> f(1)\nend\ndefpure g(x), do: x + y"))

      assert ["undefined variable \"b\"" | others] = String.split(description, "\n")
      assert [f, y] = others
      assert f =~ "test.ex:4: " and f =~ "f/1"
      assert y =~ "test.ex:6: undefined variable \"y\""
    end

    test "of names in one clause, without those that only follow from others" do
      body = """
      defactor a(n) do
        {c, x} ->
          {y, z} = none(x)
          if z do
            undefined
            send c, other(y, z)
          end
          become n: nn
      end
      """

      assert %Mote.CompileError{line: 4, description: description} = catch_error(module(body))
      assert [none, undefined, other, nn] = String.split(description, "\n")
      assert none =~ "undefined function none/1"
      assert undefined =~ ~r/test.ex:6: undefined variable "undefined"/
      assert other =~ ~r/test.ex:7: undefined function other\/2/
      assert nn =~ ~r/test.ex:9: undefined variable "nn"/
    end

    test "of syntax and of names, whichever is found first" do
      body = """
      defactor a(n) do
        c -> send c, f(n) + g(n) + nn
      end
      defpure f(x, y \\\\ 1), do: IO.puts(x + y)
      defpurep g(x), do: x + f(x)
      defpurep h(x), do: spawn(x)
      """

      assert %Mote.CompileError{line: 3, description: description} = catch_error(module(body))

      # What only the definitions with mistakes call is not told to be unused, nor they themselves to be undefined.
      assert [nn, puts, spawn] = String.split(description, "\n")
      assert nn =~ ~s(undefined variable "nn")
      assert puts =~ ~r/test.ex:5: IO.puts/
      assert spawn =~ ~r/test.ex:7: spawn/
    end

    test "with the columns that the parser keeps" do
      source = """
      defmodule Mote.Compiled.Columns do
        use Mote.Behaviour
        defactor a(n) do
          {c, 1} -> send c, 1 + undefined
          {c, 2} -> send c, Enum.map(n, &other(&1))
          3 -> n |> IO.puts()
          4 -> create b(n)
        end
        defpure f(x), do: send(x, 1)
      end
      """

      quoted = Code.string_to_quoted!(source, file: "columns.ex", columns: true)
      error = catch_error(Code.compile_quoted(quoted, "columns.ex"))
      assert %Mote.CompileError{line: 6, column: 18} = error
      assert "columns.ex:6:18: IO.puts/1 is not available" <> _ = Exception.message(error)

      quoted =
        Code.string_to_quoted!(String.replace(source, "IO.puts()", "hd()"), file: "columns.ex", columns: true)

      error = catch_error(Code.compile_quoted(quoted, "columns.ex"))
      assert "columns.ex:4:27: undefined variable" <> _ = Exception.message(error)
      places = for [_, place] <- Regex.scan(~r/columns.ex:([0-9:]+): /, Exception.message(error)), do: place
      assert places == ["4:27", "5:36", "7:17", "9:21"]
    end

    test "are the same mistake once, and ten at most" do
      body = Enum.map_join(1..15, "\n", &"IO.puts(#{&1})")
      error = catch_error(module("defpure f() do\n#{body}\nend"))
      lines = String.split(error.description, "\n")
      assert length(lines) == 11
      assert List.last(lines) == "  and 5 more"
    end
  end
end
