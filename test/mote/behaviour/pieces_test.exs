defmodule Mote.Behaviour.PiecesTest do
  # Pieces that programs repeat: becomes that name what changes, functions with effects, gather, defaults. Each as plain
  # Elixir, as IR, in the simulator, and in a machine by interpreter and by native code.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, module: 1, module: 3, turn: 2, turn: 3, warnings: 1]

  # What customers outside hear when each message has been dealt with, from all of them that run code.
  defp heard(behaviour, messages) do
    me = self()
    ref = Mote.Reference.new()
    {actor, ref} = Mote.Reference.create(ref, behaviour)

    ref =
      Enum.reduce(messages, ref, fn message, ref ->
        ref |> Mote.Reference.send(actor, message) |> Mote.Reference.run()
      end)

    simulated = for {^me, message} <- Mote.Reference.outside(ref), do: message

    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      if tier == :native, do: {:ok, _} = Mote.Generators.load(machine, behaviour.module)
      actor = Mote.create(machine, behaviour)

      for message <- messages do
        Mote.send(actor, message)
        assert Mote.drain(machine) == :ok
      end

      assert {tier, flush()} == {tier, simulated}
    end

    simulated
  end

  defp flush do
    receive do
      message -> [message | flush()]
    after
      0 -> []
    end
  end

  # The instructions of each behaviour and function, without the names of modules.
  defp code(module) do
    unit = Mote.Disassemble.unit(module.__mote__(:unit))

    text =
      inspect(for(kind <- [:behaviours, :functions], c <- unit[kind], do: {c.name, c.code}), limit: :infinity)

    String.replace(text, inspect(module), "M")
  end

  describe "become that names what changes" do
    @counter """
    defactor counter(size, queue, customer) do
      {:push, x} -> become queue: [x | queue], size: size + 1
      :pop -> become size: size - 1, queue: tl(queue)
      {:to, other} -> become customer: other
      {:both, size, queue} -> become size: size, queue: queue
      :read -> send customer, {size, queue}
    end
    """

    test "keeps the other captures" do
      module = module(@counter)
      assert turn(module.counter(1, [:a], :c), {:push, :b}).become == module.counter(2, [:b, :a], :c)
      assert turn(module.counter(1, [:a], :c), :pop).become == module.counter(0, [], :c)
      assert turn(module.counter(1, [:a], :c), {:to, :d}).become == module.counter(1, [:a], :d)
      assert turn(module.counter(1, [:a], :c), {:both, 7, [8]}).become == module.counter(7, [8], :c)

      assert heard(module.counter(0, [], self()), [{:push, 1}, {:push, 2}, :read, :pop, :read]) ==
               [{2, [2, 1]}, {1, [1]}]
    end

    test "is the long form" do
      named =
        module("""
        defactor a(b, c, d) do
          {:one, x} -> become c: x + c
          {:all, x} -> become b: x, c: b, d: c
          {:turned, x} -> become d: x + 1, b: x + 2
        end
        """)

      long =
        module("""
        defactor a(b, c, d) do
          {:one, x} -> become a(b, x + c, d)
          {:all, x} -> become a(x, b, c)
          {:turned, x} ->
            e = x + 1
            become a(x + 2, c, e)
        end
        """)

      assert code(named) == code(long)
    end

    test "in loops, and under other names of macros" do
      module =
        module("""
        defactor a(b, c) do
          list -> Enum.each(list, fn x -> become c: x end)
        end
        """)

      assert turn(module.a(1, 2), [3, 4]).become == module.a(1, 4)
      assert turn(module.a(1, 2), []).become == nil
    end

    test "calculates the values as they are written" do
      module =
        module("""
        defactor a(b, c) do
          _ -> become c: create(a(1, 1)), b: create(a(2, 2))
        end
        """)

      assert %{creates: [{_, first}, {_, second}]} = turn(module.a(0, 0), :go)
      assert {first, second} == {module.a(1, 1), module.a(2, 2)}
    end

    test "a list as an only argument of a behaviour stays what it is" do
      module = module("defactor a(b) do\n_ -> become a(b: b)\nend")
      assert turn(module.a(1), :go).become == module.a(b: 1)
    end

    test "what is wrong" do
      assert error("defactor a(size, queue) do\n_ -> become sise: 1\nend") ==
               "3: a has no capture sise, it has size, queue. Did you mean size?"

      assert error("defactor a(b) do\n_ ->\nbecome b: 1, b: 2\nend") == "4: this become changes b twice"
      assert error("defactor a() do\n_ -> become b: 1\nend") =~ "3: a has no captures, so there is nothing"
      assert error("defpure f(x), do: (become x: 1)") =~ "2: become cannot be used in a defpure"
      assert error("defeffect f(x), do: (become x: 1)") =~ "2: become x: … names a capture of the behaviour"

      assert error("defactor a(b) do\n_ -> become [b]\nend") =~
               "3: create and become want a behaviour with its captures"

      assert error("defactor a(b) do\n_ -> become []\nend") =~
               "3: create and become want a behaviour with its captures"
    end

    test "what it keeps is the capture: a variable of the same name is warned of" do
      source = """
      defactor a(size, queue) do
        {:set, size} ->
          become queue: [size | queue]
        {:add, n} ->
          queue = [n | queue]
          become size: n + length(queue)
        {:also, queue} ->
          become queue: queue
        {:in, x} ->
          if x > 0 do
            size = x
            send x, size
          end
          become queue: []
      end
      """

      assert [
               "4: this become keeps the capture size as it was" <> _,
               "7: this become keeps the capture queue" <> _
             ] = warnings(source)

      module = module(source)
      assert turn(module.a(1, []), {:set, 9}).become == module.a(1, [9])
    end
  end

  describe "functions with effects" do
    @till """
    defeffect receipt(customer, sum, log) when sum > 0 do
      send customer, {:paid, sum}
      send log, {:sale, self(), sum}
      sum
    end

    defeffect receipt(customer, _sum, _log) do
      send customer, :nothing
      0
    end

    defeffect countdown(_customer, 0), do: close()
    defeffect countdown(customer, n) do
      send customer, n
      countdown(customer, n - 1)
    end

    defeffect close(), do: become closed()

    defactor till(total, log) do
      {customer, {:card, sum}} -> become total: total + receipt(customer, sum, log)
      {customer, {:cash, sum, given}} ->
        send customer, {:change, given - sum}
        become total: total + receipt(customer, sum, log)
      {customer, {:all, sums}} -> Enum.each(sums, &receipt(customer, &1, log))
      {customer, {:close, n}} -> countdown(customer, n)
      {customer, :total} -> send customer, total
    end

    defactor closed() do
      {customer, :total} ->
        receipt(customer, 0, nil)
        send customer, :closed
    end
    """

    test "are shared by clauses and behaviours, loop and become" do
      module = module(@till)
      me = self()

      assert %{sends: [{:me, {:paid, 3}}, {:log, {:sale, _, 3}}], become: become} =
               turn(module.till(1, :log), {:me, {:card, 3}})

      assert become == module.till(4, :log)
      assert turn(module.till(1, :log), {:me, {:close, 2}}).become == module.closed()

      assert heard(module.till(0, nil), [
               {me, {:card, 5}},
               {me, {:cash, 7, 10}},
               {me, {:card, 0}},
               {me, {:all, [1, 2]}},
               {me, :total},
               {me, {:close, 2}},
               {me, :total}
             ]) == [
               {:paid, 5},
               {:change, 3},
               {:paid, 7},
               :nothing,
               {:paid, 1},
               {:paid, 2},
               12,
               2,
               1,
               :nothing,
               :closed
             ]
    end

    test "say whether a behaviour that calls them is safe" do
      module =
        module("""
        defeffect out(x), do: back(x)
        defeffect back(x), do: if(x > 0, do: out(x - 1), else: close())
        defeffect close(), do: become sink()
        defeffect tell(x), do: send(x, 1)
        defactor a() do
          x -> out(x)
        end
        defactor b() do
          x -> tell(x)
        end
        """)

      assert module.__mote__(:safe) == [b: 0]
      machine = start_supervised!({Mote, id: make_ref()})
      assert Mote.load(machine, module) == :ok
    end

    test "abort with their own line" do
      module =
        module(
          """
          defeffect note(customer, x) do
            send customer, :seen
            send customer,
                 x + 1
          end

          defactor a() do
            {customer, x} -> note(customer, x)
          end
          """,
          "",
          :abort
        )

      assert {:abort, {:raised, {^module, 5, :add}, {:b, 1}}} = turn(module.a(), {:me, :b}).outcome
      assert turn(module.a(), {:me, :b}).sends == []

      other = module("defeffect f(x) when x > 1, do: self()\ndefactor a() do\nx -> f(x)\nend", "", :abort)
      assert {:abort, {:raised, {^other, 2, {:function_clause, :f, 1}}, {{0}}}} = turn(other.a(), 0).outcome
    end

    test "belong to the behaviours of their module" do
      module = module("defeffect note(x), do: send(x, 1)\ndefactor a() do\nx -> note(x)\nend")
      refute function_exported?(module, :note, 1)
      assert module.__mote__(:functions) == []
      note = "note(x), do: send(x, 1)\n"

      assert error("defpure f(x), do: #{inspect(module)}.note(x)") ==
               "2: #{inspect(module)}.note/1 is a defeffect, which only its own module can call"

      assert error("defeffect #{note}defpure f(x) do\nnote(x)\nend") =~
               "4: note/1 is a defeffect, and a defpure has no effects: call it from a defactor"

      assert error("defeffect #{note}defactor a() do\nx when note(x) -> 1\nend") =~
               "4: note/1 cannot be used in a guard"

      assert error("defeffect #{note}defactor a() do\nx -> note(x, 1)\nend") =~ "4: undefined function note/2"
      assert error("defeffect #{note}defactor a() do\nx -> note(x, 1)\nend") =~ "there is note/1"
      assert error("defeffect #{note}defactor a() do\nx -> nete(x)\nend") =~ "Did you mean note/1?"
      assert error("defeffect #{note}defpure #{note}") =~ "3: note/1 is already defined"
      assert error("defeffect note(x)") =~ "2: note/1 needs a do block: a head without one"
      assert error("defeffect 7, do: 1") =~ "2: cannot define 7: write defeffect name(argument) do"
      assert error("defeffect send(x, y), do: {x, y}") =~ "2: send is a word of the language"
      assert error("defeffect f(x), do: y") == "2: undefined variable \"y\""
    end

    test "that end the fuel are aborted" do
      module = module("defeffect f(), do: f()\ndefactor a() do\n_ -> f()\nend")
      assert turn(module.a(), 1, fuel: 1_000).outcome == {:abort, :fuel}
    end
  end

  describe "gather" do
    @sums """
    defpure add(a, b), do: a + b

    defactor sums() do
      {customer, {:sum, list, n}} ->
        total = create gather(customer, n, 0, &add/2)
        Enum.each(list, &send(total, &1))
      {customer, {:scaled, list, by}} ->
        total = create gather(customer, length(list), [], fn
          x, acc when x > 0 -> Enum.map([x | acc], &(&1 * by))
          _, acc -> acc
        end)
        Enum.each(list, &send(total, &1))
      {customer, {:become, n}} -> become gather(customer, n, {0, 1}, fn x, {sum, product} -> {sum + x, product * x} end)
    end
    """

    test "puts so many reports together" do
      module = module(@sums)
      me = self()
      ask = fn request -> heard(module.sums(), [{me, request}]) end
      assert ask.({:sum, [1, 2, 3], 3}) == [6]
      assert ask.({:sum, [1, 2, 3, 4], 3}) == [6]
      assert ask.({:sum, [1, 2], 3}) == []
      assert ask.({:sum, [], 0}) == [0]
      assert ask.({:scaled, [1, -1, 2], 10}) == [[20, 100]]
      assert heard(module.sums(), [{me, {:become, 2}}, 3, 4, 5]) == [{7, 12}]
      assert heard(module.sums(), [{me, {:become, 0}}, 3]) == [{0, 1}]
      assert turn(module.sums(), {me, {:become, 0}}).become == :sink
    end

    test "uses variables from around it, whatever they are called, in loops too" do
      module =
        module("""
        defactor a(customer, missing) do
          list ->
            x = missing + 1
            acc = x + 1
            Enum.each(list, fn x ->
              each = create gather(customer, 1, 0, fn sum, y ->
                {customer == nil, missing, acc, x, sum + y, Enum.map([1], &(&1 + x))}
              end)
              send each, x * 10
            end)
        end
        """)

      assert heard(module.a(self(), 5), [[1, 2]]) == [{false, 5, 7, 1, 10, [2]}, {false, 5, 7, 2, 20, [3]}]
    end

    test "wants a count" do
      module = module(@sums, "", :abort)

      for n <- [:a, -1, 1.0] do
        assert {:abort, {:raised, {_, 6, :case_clause}, {^n}}} =
                 turn(module.sums(), {:me, {:sum, [], n}}).outcome
      end
    end

    test "a report that cannot be put together is lost, and the turn it came in is aborted" do
      module = module(@sums, "", :abort)
      {actor, ref} = Mote.Reference.create(Mote.Reference.new(), module.sums())
      customer = Mote.Reference.customer(:c)
      ref = ref |> Mote.Reference.send(actor, {customer, {:sum, [1, :b, 2, 3], 3}}) |> Mote.Reference.run()
      assert {ref.aborts, Mote.Reference.outside(ref)} == {%{raised: 1}, [c: 6]}
    end

    test "may have a sponsor, and a behaviour may have its name" do
      module =
        module("""
        defactor gather(a, b, c, d) do
          x -> send a, {x, b, c, d}
        end
        defactor a() do
          customer ->
            send create(gather(customer, 1, 2, 3)), :mine
            send create(gather(customer, 1, 2, &max/2), sponsor: :main), 3
        end
        """)

      assert heard(module.a(), [self()]) == [{:mine, 1, 2, 3}, 3]
    end

    test "what is wrong" do
      actor = fn code -> error("defactor a(x) do\n_ ->\n#{code}\nend") end

      assert actor.("create gather(x, 1, 0, fn a, b -> send(a, b) end)") ==
               "4: send cannot be used in the function of gather, which only puts reports together: do it where the " <>
                 "answer arrives"

      assert actor.("create gather(x, 1, 0, &(&1 + 1))") =~ "4: "

      assert actor.("create gather(:log, 1, 0, &(&1 + &2))") =~
               "4: gather takes customer, count, initial, function: :log"

      assert actor.("create gather(x, 1, 0, x)") =~ "4: undefined behaviour gather/4"

      assert actor.("case x do y when create(gather(y, 1, 0, &(&1 + &2))) -> 1 end") =~
               "4: create cannot be used in a guard"

      assert error("defpure f(x), do: create gather(x, 1, 0, &(&1 + &2))") =~
               "2: create cannot be used in a defpure"
    end
  end

  describe "defaults" do
    test "of functions and behaviours" do
      module =
        module("""
        @step 2
        @doc "Up."
        defpure up(a, b \\\\ @step)
        defpure up(:top, _), do: :top
        defpure up(a, b), do: a + b
        defpurep most(a \\\\ 1, b, c \\\\ add(2, 1)), do: {a, b, c}
        defpure add(a, b), do: a + b
        defpure all(), do: {up(1), up(1, 5), up(:top), most(:b), most(:a, :b), most(:a, :b, :c)}
        defeffect tell(customer, what \\\\ :hello), do: send(customer, what)
        @doc "Counts."
        defactor counter(count \\\\ 0, step \\\\ 1) do
          {customer, :read} ->
            tell(customer)
            tell(customer, count)
          {_, :again} -> become counter(count)
          {_, :zero} -> become counter()
          :next -> become count: count + step
        end
        """)

      assert module.all() == {3, 6, :top, {1, :b, 3}, {:a, :b, 3}, {:a, :b, :c}}
      assert Mote.Interpret.call(module, :all, []) == module.all()
      assert {module.up(4), module.up(4, 3)} == {6, 7}
      assert module.counter() == module.counter(0, 1)
      assert module.counter(7) == module.counter(7, 1)
      assert turn(module.counter(3, 4), {:me, :again}).become == module.counter(3, 1)
      assert turn(module.counter(3, 4), {:me, :zero}).become == module.counter(0, 1)
      me = self()

      assert heard(module.counter(1, 2), [:next, {me, :read}, {me, :zero}, :next, {me, :read}]) == [
               :hello,
               3,
               :hello,
               1
             ]
    end

    test "of captures, of what the standard library makes of literals" do
      module =
        module("""
        @rows [b: 2, a: 1]
        defactor a(s \\\\ MapSet.new(), q \\\\ :queue.from_list([1, -2]), m \\\\ Map.new(@rows), r \\\\ {1..9, [5 * 60 | %{}]}) do
          customer -> send customer, {s, q, m, r}
        end
        defactor b() do
          customer -> send create(a()), customer
        end
        """)

      all = {MapSet.new(), :queue.from_list([1, -2]), %{a: 1, b: 2}, {1..9, [300 | %{}]}}
      assert module.a().captures == all
      assert heard(module.a(), [self()]) == [all]
      assert heard(module.b(), [self()]) == [all]
      assert error("defactor a(s \\\\ Map.fetch!(%{}, :a)) do\n_ -> s\nend") =~ "must be a constant"
      assert error("defactor a(s \\\\ hd([])) do\n_ -> s\nend") =~ "must be a constant"
      assert error("defactor a(s \\\\ :rand.uniform()) do\n_ -> s\nend") =~ "must be a constant"
    end

    test "a head without defaults, for what is said of all clauses" do
      module =
        module("""
        @doc "The other one."
        @spec other(atom) :: atom
        defpure other(side)
        defpure other(:left), do: own(:right)
        defpure other(:right), do: :left
        @spec own(side) :: side when side: atom
        defpurep own(side)
        defpurep own(side), do: side
        """)

      assert {module.other(:left), module.other(:right)} == {:right, :left}
      assert error("defpurep f(a)\ndefpure g(a), do: a") =~ "2: f/1 needs a do block"
      assert error("@spec g(atom) :: atom\ndefpure f(a), do: a") =~ "spec for undefined function g/1"
    end

    test "what is wrong" do
      assert error("defpure f(a, b \\\\ 1), do: a + b\ndefpure f(a, b \\\\ 2), do: a - b") =~
               "3: the defaults of f/2 are given at line 2: several clauses have them in one head"

      assert error("defpure f(a)") =~ "2: f/1 needs a do block"

      assert error("defactor f(a \\\\ self()) do\n_ -> a\nend") =~
               "2: the default of the capture a must be a constant"

      assert error("defpure f(a, b \\\\ a), do: a + b") == "2: undefined variable \"a\""
      conflict = "f/1 is already defined: f/2 with its defaults is f/1, too"
      assert error("defpure f(a), do: a\ndefpure f(a, b \\\\ 1), do: a + b") == "3: #{conflict}"
      assert error("defpure f(a, b \\\\ 1), do: a + b\ndefpure f(a), do: a") == "3: #{conflict}"
      assert error("defpure f(a, b \\\\ 1)") =~ "2: undefined function f/2"
    end
  end

  describe "functions of other modules" do
    test "are called when they are imported, too" do
      other = module("defpure double(x, by \\\\ 2), do: x * by\ndefactor d() do\n_ -> 1\nend")

      name =
        module("""
        import #{inspect(other)}, only: [double: 1, double: 2]
        alias #{inspect(other)}, as: Other
        defpure f(x), do: {double(x), double(x, 3), Other.double(x), Enum.map([x], &double/1)}
        """)

      assert name.f(2) == {4, 6, 4, [4]}
      assert Mote.Interpret.call(name, :f, [2]) == name.f(2)
    end
  end

  describe "structs" do
    defmodule Point do
      @enforce_keys [:x]
      defstruct [:x, y: 0]
    end

    @prelude "alias #{inspect(Point)}"

    test "are made, updated and matched" do
      module =
        module(
          """
          defpure new(x), do: %Point{x: x}
          defpure built(x), do: struct!(Point, x: x, y: 1)
          defpure moved(p, y), do: %Point{p | y: y}
          defpure both(p, n), do: %Point{moved(p, n) | x: n, y: n + 1}
          defpure other(p, y), do: struct!(p, y: y)
          """,
          @prelude,
          :abort
        )

      for {name, args, value} <- [
            {:new, [1], %Point{x: 1}},
            {:built, [2], %Point{x: 2, y: 1}},
            {:moved, [%Point{x: 1}, 7], %Point{x: 1, y: 7}},
            {:both, [%Point{x: 1}, 7], %Point{x: 7, y: 8}},
            {:other, [%Point{x: 1}, 7], %Point{x: 1, y: 7}}
          ] do
        assert apply(module, name, args) == value
        assert Mote.Interpret.call(module, name, args) == value
      end

      for wrong <- [7, %{x: 1, y: 2}, %{__struct__: Other, x: 1, y: 2}] do
        for exception <- [
              catch_error(module.moved(wrong, 1)),
              catch_error(Mote.Interpret.call(module, :moved, [wrong, 1]))
            ] do
          if Code.ensure_loaded?(BadStructError),
            do: assert(exception == struct(BadStructError, struct: Point, term: wrong)),
            else: assert(%ArgumentError{message: "expected a struct " <> _} = exception)
        end
      end

      assert_raise ArgumentError, "expected a struct, got: %{y: 1}", fn -> module.other(%{y: 1}, 2) end
      assert_raise KeyError, fn -> module.other(%{__struct__: :s}, 2) end
    end

    test "are made of fields that are calculated" do
      module =
        module(
          """
          defstruct [:a, b: %{}]
          defpure options(opts), do: struct(__MODULE__, opts)
          defpure strictly(opts), do: struct!(__MODULE__, Keyword.put(opts, :a, 1))
          defpure point(opts), do: struct(%Point{x: 0}, opts)
          """,
          @prelude,
          :abort
        )

      for {name, args, value} <- [
            {:options, [[c: 1, b: 2]], struct(module, b: 2)},
            {:strictly, [[b: 2]], struct(module, a: 1, b: 2)},
            {:point, [[y: 4, __struct__: 1]], %Point{x: 0, y: 4}}
          ] do
        assert apply(module, name, args) == value
        assert Mote.Interpret.call(module, name, args) == value
      end

      assert_raise KeyError, ~r/key :c not found/, fn -> module.strictly(c: 1) end
      {:raised, exception} = Mote.Compile.eval("struct!(Range.new(1, 2), x)", [x: [frist: 1]], :abort)
      assert %KeyError{key: :frist} = exception
    end

    test "keep what they enforce" do
      assert Mote.Compile.error("defpure f(), do: %Point{y: 1}", @prelude) ==
               "2: the following keys must also be given when building struct #{inspect(Point)}: [:x]"

      assert Mote.Compile.error("defpure f(p), do: %Point{p | z: 1}", @prelude) =~ "has no key :z"

      assert Mote.Compile.error("defpure f(p), do: struct!(Point, p)", @prelude) =~
               "2: the following keys must also be given when building struct #{inspect(Point)}: [:x]"

      assert_raise ArgumentError, ~r/the following keys must also be given when building struct/, fn ->
        module("@enforce_keys [:a]\ndefstruct [:a, :b]\ndefpure f(), do: %__MODULE__{b: 1}")
      end

      own = module("@enforce_keys [:a]\ndefstruct [:a, b: 2]\ndefpure f(), do: %__MODULE__{a: 1}")
      assert own.f() == struct!(own, a: 1)
    end
  end
end
