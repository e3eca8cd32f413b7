defmodule Mote.Behaviour.PiecesTest do
  # Pieces that programs repeat: becomes that name what changes, defaults, imports, structs.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1, module: 1, module: 3, turn: 2, warnings: 1]
  import Mote.Hearing

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

    test "takes a behaviour from a pipeline, as create does" do
      module =
        module("""
        defactor a(b) do
          {:become, x} -> x |> Kernel.+(1) |> a() |> become()
          {:create, x} -> send b, x |> a() |> create()
          {:gather, x} -> x |> gather(0, nil, fn _, acc -> acc end) |> become()
        end
        """)

      assert turn(module.a(self()), {:become, 1}).become == module.a(2)
      assert [{_, behaviour}] = turn(module.a(self()), {:create, 1}).creates
      assert behaviour == module.a(1)
      assert turn(module.a(self()), {:gather, self()}).sends == [{self(), nil}]
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

    test "attributes before a definition are its own" do
      [{adds, _}, {module, _}] =
        Code.compile_string("""
        defmodule Mote.Behaviour.PiecesTest.Adds do
          @callback added(tuple, tuple) :: integer
        end

        defmodule Mote.Behaviour.PiecesTest.Marked do
          @behaviour Mote.Behaviour.PiecesTest.Adds
          use Mote.Behaviour
          @deprecated "use +"
          defpure add(0, _other), do: 0
          defpure add(first, other), do: first + other
          @impl true
          defpure added({_, _}, {_, _}), do: 0
          @deprecated "use it with both"
          defpure both(_fn, n \\\\ 1), do: n
          @deprecated "use another one"
          defactor old(n) do
            customer -> send customer, n
          end
          def plain(x), do: x
        end
        """)

      deprecated = [add: 2, both: 1, both: 2, old: 1]
      assert module.__info__(:deprecated) |> Enum.map(&elem(&1, 0)) |> Enum.sort() == deprecated
      Enum.each([adds, module], &Mote.Compile.purge/1)
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
      # From Elixir 1.20 on it is logged, and the error says no more than that.
      assert error("@spec g(atom) :: atom\ndefpure f(a), do: a") =~
               ~r"spec for undefined function g/1|errors have been logged"
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
        machine = Mote.Raised.exception(Mote.Compile.reason(module, :moved, [wrong, 1]))

        # Since 1.20 Elixir itself checks the types of such an update, and no values.
        plain = if Version.match?(System.version(), "< 1.20.0"), do: catch_error(module.moved(wrong, 1))

        for exception <- [machine, plain || machine] do
          exception = Exception.normalize(:error, exception)

          if Code.ensure_loaded?(BadStructError),
            do: assert(exception == struct(BadStructError, struct: Point, term: wrong)),
            else: assert(%ArgumentError{message: "expected a struct " <> _} = exception)
        end
      end

      assert %ArgumentError{message: "expected a struct, got: %{y: 1}"} =
               Mote.Raised.exception(Mote.Compile.reason(module, :other, [%{y: 1}, 2]))

      assert catch_error(module.other(%{y: 1}, 2))
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
