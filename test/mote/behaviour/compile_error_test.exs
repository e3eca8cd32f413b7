defmodule Mote.Behaviour.CompileErrorTest do
  # Everything outside of the language is refused at its line, with what to write instead.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, module: 1]

  # An expression on line 4 of a defpure, and of a clause of a defactor.
  defp pure(expression), do: error("defpure f(x) do\nx\n#{expression}\nend")
  defp actor(expression), do: error("defactor a(x) do\n_ ->\n#{expression}\nend")

  describe "constructs that do not exist" do
    test "leave their names to functions of the module that have other arguments, or are not imported" do
      module =
        module("""
        import Kernel, except: [binding: 1]
        defpure f(x), do: binding(x)
        defpurep binding(x), do: node(x, 0, x)
        defpure node(left, key, right), do: {left, key, right}
        """)

      assert module.f(1) == {1, 0, 1}

      assert pure("node(x, x, x)") =~
               "4: node is not available in a behaviour: an actor's address says where it is"

      other = module("defpure node(left, key, right), do: [left, key, right]")
      importing = module("import #{inspect(other)}, only: [node: 3]\ndefpure f(x), do: node(x, 0, x)")
      assert importing.f(1) == [1, 0, 1]
      wrong = error("defpure node(a, b, c), do: {a, b, c}\ndefpure f(x), do: node(x, x)")
      assert wrong =~ "3: undefined function node/2: " and wrong =~ "; there is node/3"
      plain = module("def plain(x), do: x")

      assert pure("#{inspect(plain)}.plain(x)") =~
               "4: #{inspect(plain)}.plain/1 is defined with def: write defpure"
    end

    test "are Kernel's where it is named, or where a macro has imported it" do
      head = "import Kernel, except: [exit: 1, node: 1]\ndefpure node(x), do: x\n"

      for call <- [
            "Kernel.exit(x)",
            "x |> Kernel.exit()",
            "Enum.map(x, &Kernel.exit/1)",
            "Kernel.node(x)"
          ] do
        assert error(head <> "defpure exit(x), do: #{call}") =~
                 ~r/^4: (exit|node) is not available in a behaviour/
      end

      macros = "Mote.Compiled.Macros#{System.unique_integer([:positive])}"

      Code.compile_string("defmodule #{macros} do\ndefmacro shown(x), do: quote(do: exit(unquote(x)))\nend")

      assert error(
               head <>
                 "require #{macros}\ndefpure exit(x), do: {:own, x}\ndefpure f(x), do: #{macros}.shown(x)"
             ) =~ "exit is not available in a behaviour"
    end

    test "that the language has itself keep their meaning, so that no function has their names" do
      for {name, args} <- [is_nil: "x", struct: "x, y", tap: "x, y", is_struct: "x, y"] do
        arity = if name == :is_nil, do: 1, else: 2

        assert error("import Kernel, except: [#{name}: #{arity}]\ndefpure #{name}(#{args}), do: x") ==
                 "3: #{name}/#{arity} is a primitive of the language: choose another name"
      end
    end

    test "of Greek words are refused where the mode is written, and abort the turn where it is calculated" do
      assert pure("String.downcase(x, :greek)") =~
               "4: String.downcase/2 with :greek is not available in a behaviour"

      assert pure("String.capitalize(x, :greek)") =~ "4: String.capitalize/2 with :greek is not available"

      module =
        Mote.Compile.module(
          "defpure f(x, mode), do: {String.upcase(x, :greek), String.downcase(x, mode)}",
          "",
          :abort
        )

      assert {:raised, {^module, 2, {String, :downcase}}, {"Σ", :greek}} =
               Mote.Compile.reason(module, :f, ["Σ", :greek])

      assert Mote.Interpret.call(module, :f, ["Σ", :default]) == {"Σ", "σ"}
    end

    test "that are imported from Kernel are no names of functions either" do
      for call <- [
            "struct(x, y)",
            "struct!(x)",
            "to_charlist(x)",
            "pop_in(x, y)",
            "binary_slice(x, y, z)",
            "then(x, y)"
          ] do
        [name] = Regex.run(~r/^\w+!?/, call)
        arity = length(String.split(call, ","))

        assert error("defpure #{call}, do: {x, self()}") ==
                 "2: #{name}/#{arity} is imported from Kernel, whose function a call would mean: choose another name"
      end
    end

    test "are named with an alternative" do
      for {expression, text} <- [
            {"receive do x -> x end",
             "receive is not available in a behaviour: an actor gets its messages one"},
            {"try do 1 rescue _ -> 2 end", "try is not available with errors: :undefined"},
            {"__STACKTRACE__",
             "__STACKTRACE__ is not available in a behaviour, except in reraise e, __STACKTRACE__"},
            {"reraise x, __STACKTRACE__",
             "reraise is not available in a behaviour: write reraise e, __STACKTRACE__ in the clause of a rescue that has bound e"},
            {"raise x, 1", "raise names the module of an exception"},
            {"exit(:x)", "exit is not available"},
            {"spawn(fn -> 1 end)", "spawn is not available in a behaviour: make an actor with create"},
            {"with {:ok, y} <- x", "with needs a do block, and takes an else block behind it, nothing else"},
            {"with {:ok, y} <- x, do: y, else: 1", "the body of else consists of clauses, pattern -> body"},
            {"%Range{x | start: 1}", "%Range{} has no key :start"},
            {"%Range{first: 1}",
             "the following keys must also be given when building struct Range: [:last, :step]"},
            {"struct!(Range, x)",
             "the following keys must also be given when building struct Range: [:first, :last, :step]; which keys fields " <>
               "have that are calculated is not known here, so write struct!(%Name{key: value}, fields)"},
            {":queue.flod(x, 0, x)", "undefined function :queue.flod/3. Did you mean fold/3"},
            {"%Range{start: 1}", "%Range{} has no key :start"},
            {"get_in(x, [Access.find(& &1)])",
             "Access.find/1 is not available in a behaviour: not all releases of Elixir have it"},
            {"Stream.map(x, & &1)",
             "Stream.map/2 is not available in a behaviour: name it, use Mote.Behaviour, import: [Stream]"},
            {"update_in(x, &(&1 + 1))", "update_in/2 takes a path, such as map.key or map[key], got: x"},
            {"pop_in(x.a)", "pop_in/1 cannot take the field .a out of its map"},
            {"<<x::utf16>>", "utf16 is not available in a segment"},
            {"<<x::129>>", "an integer segment has 0 to 128 bits, not 129"},
            {"<<x::float-16>>", "a float segment has 32 or 64 bits"},
            {"<<x::utf8-size(2)>>", "a utf8 segment has neither size nor unit"},
            {"<<x::binary-unit(4)>>", "the unit of a segment without a size is 1 or 8 bits, not 4"},
            {"fn y -> send y, 1 end", "send cannot be used in a defpure"},
            {"&(x + 1)", "&(x + 1) captures no argument: a function without arguments is fn -> … end"},
            {"case x do y when fn -> y end -> 1 end",
             "fn is not available in a behaviour: a guard tests values"},
            {"case x do y when x.(y) -> 1 end",
             "a call of a function that is a value cannot be used in a guard"},
            {"Enum.max(x, x)", "max wants its function in place here, fn … end or a & capture"},
            {"x.name()", "the module of a call must be known when compiling, got: x"},
            {"apply(List, x, [1])", "apply/3 wants a name and a list that are written in place"},
            {"apply(x, :f, [1])", "the module of a call must be known when compiling, got: x"},
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
            {"Stream.timer(x)", "Stream.timer/1 is not available in a behaviour: an actor does not wait"},
            {"Regex.compile!(x)",
             "Regex.compile!/1 is not available in a behaviour: a regex is written in place, ~r/…/"},
            {"case x do y when ~r/a/ == y -> y end",
             "a regex is not available in a behaviour: a guard tests values"},
            {"String.to_atom(x)", "String.to_atom/1 is not available in a behaviour: atoms are never freed"},
            {"DateTime.utc_now()",
             "DateTime.utc_now/0 is not available in a behaviour: a turn that runs again"},
            {"Date.utc_today()", "a turn that runs again must do the same again"},
            {":ets.lookup(x, 1)", "a map takes the place of a table"},
            {"Enum.mpa(x, & &1)", "Enum.mpa/2 is not available in a behaviour. Did you mean Enum.map/2"},
            {"Enum.map(x)", "Enum.map/1 is not available in a behaviour. Did you mean Enum.map/2"},
            {"Enum.qqq(x)",
             "Enum.qqq/1 is not available in a behaviour; what there is of Enum is listed in Mote.Behaviour"},
            {"Enum.sort(x, :descending)",
             "sort wants a function, such as fn … end or a & capture, or :asc or :desc, got: :descending"},
            {"Enum.sort_by(x, 7, :desc)",
             "sort_by wants a function, such as fn … end or a & capture, got: 7"},
            {"Integer.prase(x)",
             "Integer.prase/1 is not available in a behaviour. Did you mean Integer.parse/1"},
            {"becom(x)", "Did you mean become/1?"},
            {"sned x, 1", "Did you mean send/2"},
            {"Mote.send(x, 1)",
             "Mote.send/2 is not available in a behaviour, which runs in a machine: write send target"},
            {"Mote.on(:main, x)",
             "Mote.on/2 is not available in a behaviour, which runs in a machine: write on(sponsor"},
            {"Mote.ask(x, 1)",
             "Mote.ask/2 is not available in a behaviour, which runs in a machine: an actor does not wait: write send"},
            {"send x, case x do 1 -> 2 end",
             "this do block belongs to send, and not to its last argument: write parentheses, send(…, case … do … end)"},
            {"Enum.chunk(x, 2)",
             "Enum.chunk/2 is not available in a behaviour, and deprecated in Elixir: Use Enum.chunk_every/2"},
            {"String.lstrip(x)", "deprecated in Elixir: Use String.trim_leading/1"},
            {"GenServer.reply(x, 1)", "write send customer, answer"},
            {"gather(x, 2, 0, fn y, z -> y + z end)",
             "write create gather(customer, count, initial, fun), or become gather"},
            {"__ENV__", "__ENV__ is not available in a behaviour"},
            {"__ENV__.line", "__ENV__ is not available in a behaviour"},
            {"Function.info(x)", "write &Module.name/1 for a function that is a value"},
            {"Map.get_and_update(x, 1, 2)", "get_and_update wants a function, such as fn … end"},
            {"String.jaro_distance(x, x)", "write a defpure of your own, or use String.bag_distance/2"},
            {"Integer.is_odd(x)",
             "Integer.is_odd/1 is a macro: write require Integer at the top of the module"},
            {":math.tau()", ":math.tau/0 is not available"},
            {":erlang.now()", ":erlang.now/0 is not available in a behaviour: a turn that runs again"},
            {"x.Foo",
             ~S[invalid alias: "x.Foo": an alias is an atom that is known when compiling; to call a] <>
               ~S[ function or to read a field of that name write it in double quotes, x."Foo"]},
            {"Enum.map(x, &(&2))", "this loop calls its function with 1 argument: & &2"},
            {"Enum.map(x, &(&1 + &2))", "this loop calls its function with 1 argument: &(&1 + &2)"},
            {"Enum.map(x, &f/2)", "this loop calls its function with 1 argument: &f/2"},
            {"Enum.map(x, &(1))",
             "&1 is an argument of a capture, and no function: the capture of an argument alone is &(&1), and a function " <>
               "that returns 1 is fn … -> 1 end"},
            {"Enum.max(x, &1)", "&1 is an argument of a capture, and no function"},
            {"Enum.map(x, &Enum.map(&1, &(&1 + 1)))",
             "captures cannot be nested, got &(&1 + 1) inside of &Enum.map(&1, &(&1 + 1)): write one of them as fn … end"},
            {"reply(x, 1)", "undefined function reply/2: write send customer, answer"},
            {"return 1", "undefined function return/1: nothing returns early: the last expression of a body"},
            {"xor(x, true)",
             "undefined function xor/2: write a != b for booleans, and bxor(a, b) of Bitwise"},
            {"y = x\ny xor x", "there is no operator xor: write a != b for booleans"},
            {"x ! {:ok, 1}", "there is no operator ! that sends: write send x, message"},
            {"_", "_ can only be used in a pattern"},
            {"^x", "a pinned variable belongs into a pattern"},
            {":binary.referenced_byte_size(x)",
             ":binary.referenced_byte_size/1 is not available in a behaviour; what there is of :binary"},
            {"send x", "send with 1 argument does not exist: write send target, message"}
          ] do
        assert <<line, ": ", message::binary>> = pure(expression)
        assert line == if(expression =~ "\n", do: ?5, else: ?4)
        assert message =~ text, "#{expression}: #{message}"
      end

      # They are names as any others.
      module =
        module("""
        defpure reply(x, y), do: {x, y}
        defpure g(x), do: x
        defpure f(x), do: [reply(x, 1), Enum.map([[x]], fn xs -> Enum.map(xs, &g/1) end)]
        """)

      assert module.f(2) == [{2, 1}, [[2]]]
    end

    test "with the keys that Elixir refuses" do
      for name <- ["if", "unless"],
          {keys, shown} <- [
            {"do: 1, esle: 2", ":do, :esle"},
            {"else: 2", ":else"},
            {"else: 2, do: 1", ":else, :do"},
            {"do: 1, else: 2, else: 3", ":do, :else, :else"},
            {"[]", "got "}
          ] do
        message = pure("#{name} x, #{keys}")

        assert message =~
                 "4: invalid or duplicate keys for #{name}, only \"do\" and an optional \"else\" are permitted"

        assert message =~ shown
      end

      for {expression, text} <- [
            {"for(i <- x, uniq: 3, do: i)", "uniq: of for is true or false, got: 3"},
            {"for(i <- x, uniq: x, do: i)", "uniq: of for is true or false, got: x"},
            {"for i <- x, uniq: true, reduce: 0 do a -> a + i end", "for takes uniq: or reduce:, not both"},
            {"case x do 1 -> 2 else 3 -> 4 end",
             "unexpected option :else in \"case\": a last clause _ -> … takes what no other one matches"},
            {"case x, else: 2", "unexpected option :else in \"case\""},
            {"case x, to: 2", "unexpected option :to in \"case\": it takes a do block, and nothing else"},
            {"cond do x -> 2 else 3 -> 4 end",
             "unexpected option :else in \"cond\": a last clause true -> … stands for all other cases"},
            {"<<x::binary-signed>>",
             "signed and unsigned are for integer and float segments, not for binary"},
            {"<<x::bits-unsigned>>", "signed and unsigned are for integer and float segments, not for bits"},
            {"<<\"a\"::signed>>", "signed and unsigned are for integer and float segments, not for binary"},
            {"<<x::utf8-signed>>", "signed and unsigned are for integer and float segments, not for utf8"},
            {"<<y::binary-signed>> = x", "signed and unsigned are for integer and float segments"},
            {"<<x::integer-float>>", "float contradicts what this segment says before it"},
            {"<<x::signed-unsigned>>", "unsigned contradicts what this segment says before it"},
            {"<<x::little-big>>", "big contradicts what this segment says before it"},
            {"<<x::8-size(16)>>", "size(16) contradicts what this segment says before it"},
            {"<<x::unit(8)-unit(4)>>", "unit(4) contradicts what this segment says before it"}
          ] do
        assert "4: " <> message = pure(expression)
        assert message =~ text, "#{expression}: #{message}"
      end

      module =
        module("""
        defpure f(x) do
          for i <- [x, x], uniq: true, do: <<i::signed-integer-size(8)-integer-little-signed>>
        end
        """)

      assert module.f(-1) == [<<255>>]
    end

    test "in patterns" do
      for {pattern, text} <- [
            {"%{y => z}", "y cannot be a key in a pattern"},
            {"%{{1, -0.0} => z}", "{1, -0.0} cannot be a key in a pattern"},
            {"<<y::binary, z>>", "a binary without a size must be the last segment"},
            {"<<y, z::size(^y)>>", "y is bound by the pattern that has it as a pinned size"},
            {"<<y::size(x + 1)>>",
             "the size of a segment is an integer or a variable in a pattern, not x + 1"},
            {"<<{y}>>", "a segment of a pattern is a literal, a variable, _ or ^pinned"},
            {"<<y::size(z)>>", "undefined variable \"z\""},
            {"y <> \"a\"", "a binary without a size must be the last segment"},
            {"%Range{start: y}", "%Range{} has no key :start"},
            {"^hd(y)", "only a variable can be pinned"},
            {"y + 1", "cannot use y + 1 in a pattern"},
            {"%{y | a: 1}",
             "cannot use map/struct update syntax in match, got: %{y | a: 1}; write %{key: value} = map"},
            {"%Range{y | first: 1}", "cannot use map/struct update syntax in match"},
            {"%^y{y | first: 1}", "cannot use map/struct update syntax in match"},
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
            {"String.length(y) > 3", "String.length cannot be used in a guard"},
            {"y[:a]", "Access.get cannot be used in a guard"},
            {"y ** 2 > x", "Kernel.** cannot be used in a guard"},
            {"Enum.sum(y) > 1", "what is called here cannot be used in a guard"},
            {"self() == x", "Decide it in the body, with if or case"},
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

      assert error("defactor a(n) do\n_ -> become n + 1\nend") =~
               "undefined behaviour +/2: write a behaviour and its captures"

      for verb <- ["create", "become"] do
        assert actor("#{verb} gather(x, 1, 0, x)") ==
                 "4: undefined behaviour gather/4: the function of gather is written where it is used, fn … end or &name/2"
      end

      assert pure("Map.updat(x, 1, 2, & &1)") =~ "Did you mean Map.update/4 or Map.update!/3?"
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

      assert pure("URI.query_decoder(x)") =~
               ~r"^4: URI.query_decoder/1 is not available in a behaviour, as .* in URI.query_decoder/2, .*uri.ex:\d+: Stream.unfold/2"

      assert pure("ExUnit.start(x)") =~
               "ExUnit is not a Mote.Behaviour module: write the function there with defpure"
    end

    test "behaviours" do
      assert actor("create b(1)") == "4: undefined behaviour b/1"
      assert actor("become a()") == "4: the behaviour a has 1 capture, got 0"

      assert error("defactor a(x, y) do\n_ -> become a(y: x, x: y)\nend") ==
               "3: become a(y: …, x: …) makes a keyword list the capture of a: write become y: …, x: …"

      assert error("defactor b(z, x) do\n_ -> z\nend\ndefactor a(x) do\n_ -> become b(x: x)\nend") ==
               "6: become b(x: …) makes a keyword list the capture of b: write the values without the names, become b(…)"

      assert error("defactor a(x, y) do\n_ -> become a(y: x, z: y)\nend") ==
               "3: the behaviour a has 2 captures, got 1"

      assert actor("create x") =~
               "create wants a behaviour with its captures, such as create x(…); x is a variable"

      for verb <- ["create", "become"] do
        assert actor("Enum.each([x], &#{verb}/1)") ==
                 "4: #{verb} wants a behaviour with its captures, and no value: write the behaviour in the function, &#{verb}(name(&1))"
      end

      for verb <- ["create", "become"] do
        assert error("import Kernel, except: [|>: 2]\ndefactor a(x) do\n_ -> #{verb} x |> a()\nend") =~
                 "4: undefined behaviour |>/2"
      end

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
        _ -> become other(b, a)
      end
      @doc false
      defpure hidden(x), do: x
      @doc "Sums."
      defpure sum([]), do: 0
      defpure sum([h | t]), do: h + sum(t)
      @deprecated "use +"
      defpure add(0, _other), do: 0
      defpure add(first, other), do: first + other
      defpure pairs({_, _}, _fn, same, same), do: same
      @doc "Plain."
      def plain(x), do: x
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

    # Newer releases also keep where it stands.
    heads =
      for {{:function, name, arity}, _, head, _, marks} <- docs,
          into: %{},
          do: {{name, arity}, {head, Map.delete(marks, :source_annos)}}

    docs = for {{:function, name, arity}, _, _, doc, _} <- docs, do: {{name, arity}, doc}
    docs = Map.new(docs)
    assert docs[{:mine, 1}] == %{"en" => "Mine."}
    assert docs[{:other, 2}]["en"] =~ "The behaviour `other(a, b)`"
    assert docs[{:hidden, 1}] == :hidden
    assert docs[{:sum, 1}] == %{"en" => "Sums."}
    assert docs[{:plain, 1}] == %{"en" => "Plain."}

    # Arguments have the names that clauses give them, and attributes are those of the definition that they stand before.
    assert heads[{:add, 2}] == {["add(first, other)"], %{deprecated: "use +"}}
    assert {["pairs(arg, fn, same, same)"], _} = heads[{:pairs, 4}]
    assert {["mine(a)"], mine} = heads[{:mine, 1}]
    assert {["plain(x)"], plain} = heads[{:plain, 1}]
    for marks <- [mine, plain], do: refute(Map.has_key?(marks, :deprecated))
  end

  test "no warnings of Elixir about what is generated, also for what would be odd in plain Elixir" do
    import ExUnit.CaptureIO

    source = """
    defmodule Mote.Compiled.NothingTold do
      use Mote.Behaviour, errors: :undefined
      defactor a(unused, n) do
        {:x, y} -> case 1 do 1 -> :ok; 2 -> :never end
        z when n == 1 and 1 == 2 -> if false do 1 else 2 end
        _ -> abort(:a); send n, 1
        _ -> :never
      end
      defpure f(x) do
        1 + 2
        {x, y} = {1, :a}
        1 + :a
      end
    end
    """

    output = capture_io(:stderr, fn -> Mote.Compile.quietly(source, "nothing_told.ex") end)
    # Others may write at the same time.
    refute output =~ "nothing_told.ex"
  end
end
