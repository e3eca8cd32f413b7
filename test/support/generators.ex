defmodule Mote.Generators do
  @moduledoc """
  Random programs: a module of behaviours as source text, and the messages to start it with.

  Every program is deterministic and ends: a message is `{steps, value, address}`, and what an actor sends to actors
  has one step less. Values and addresses are kept apart, so that no program depends on the order of addresses, which
  the machine and the reference do not share. Expressions are in `generators/expressions.ex`.
  """

  import StreamData

  alias Mote.Generators.{Expressions, Literals, Patterns, Starter}
  alias Mote.Reference

  defmodule Program do
    @moduledoc "Source text without the module around it, how many actors it has, and `{actor, steps, value}`."
    defstruct [:source, :actors, :messages, errors: :undefined]
  end

  @doc "Why generated programs are not compiled by this release of Elixir, or `false`."
  @spec unfit() :: String.t() | false
  def unfit do
    Version.match?(System.version(), ">= 1.20.0") &&
      "Elixir takes more than four gigabytes to infer the types of some generated programs"
  end

  @doc "A whole program."
  def program do
    bind(tuple({integer(0..2), integer(1..3)}), fn {functions, actors} ->
      map(
        tuple({functions(functions), actors(actors, functions), messages(actors), errors()}),
        fn {functions, actors_source, messages, errors} ->
          %Program{source: functions <> actors_source, actors: actors, messages: messages, errors: errors}
        end
      )
    end)
  end

  # Where errors abort turns, programs are over sooner: so most do not.
  defp errors, do: frequency([{3, constant(:undefined)}, {1, constant(:abort)}])

  # -- functions -----------------------------------------------------------------------------------------------

  # f0 calls nobody, f1 may call f0, …; r counts down and calls itself last, d counts down and waits.
  defp functions(n) do
    0..n
    |> Enum.map(&function/1)
    |> fixed_list()
    |> map(&Enum.join/1)
  end

  defp function(i) do
    scope = %{values: ["x", "y"], addresses: [], functions: i}
    recursive = %{values: ["n", "x"], addresses: [], functions: i}

    map(
      tuple({
        Patterns.pattern(scope, 1, "f"),
        Expressions.expr(scope, 3, "a"),
        Expressions.expr(scope, 3, "b"),
        Expressions.expr(recursive, 2, "c"),
        Expressions.expr(%{recursive | values: ["x"]}, 2, "d"),
        # Those that others may call are compiled for processes as well.
        member_of(["defpure", "defpurep"])
      }),
      fn {{pattern, _}, special, general, step, last, define} ->
        """
        #{define} f#{i}(#{pattern} = x, y) do
          #{special}
        end
        #{define} f#{i}(x, y) do
          #{general}
        end
        #{define} r#{i}(0, x), do: (#{last})
        #{define} r#{i}(n, x) when is_integer(n) and n > 0, do: r#{i}(n - 1, #{step})
        #{define} d#{i}(0, x), do: x
        #{define} d#{i}(n, x), do: hd([d#{i}(n - 1, x), n])
        """
      end
    )
  end

  # -- behaviours ----------------------------------------------------------------------------------------------

  defp actors(n, functions) do
    0..(n - 1)
    |> Enum.map(&actor(&1, n, functions))
    |> fixed_list()
    |> map(&Enum.join/1)
  end

  defp actor(i, n, functions) do
    map(list_of(clause(n, functions), min_length: 1, max_length: 3), fn clauses ->
      """
      defactor a#{i}(out, s, t) do
      #{Enum.join(clauses)}  {:apply, f, x} -> send(out, {:applied, f.(x)})
        {0, v, _} -> send(out, {:end, v, s})
      end
      """
    end)
  end

  defp clause(actors, functions) do
    scope = %{values: ["s"], addresses: ["a", "t", "self()"], functions: functions, actors: actors}

    # A clause that takes whatever comes keeps a program going.
    patterns = frequency([{2, constant({"m", ["m"]})}, {3, Patterns.pattern(scope, 2, "m")}])

    bind(patterns, fn {pattern, variables} ->
      inner = %{scope | values: variables ++ ["s", "k"]}

      map(
        tuple({frequency([{1, constant("true")}, {1, Patterns.guard(inner, 2)}]), statements(inner)}),
        fn {guard, statements} ->
          "  {k, #{pattern}, a} when is_integer(k) and k > 0 and #{guard} ->\n#{statements}"
        end
      )
    end)
  end

  defp statements(scope) do
    bind(integer(1..4), fn n -> statements(scope, n, "p") end)
  end

  # One statement after another, each seeing the variables of those before.
  defp statements(scope, 0, path), do: map(statement(scope, path), fn {text, _} -> indent(text) end)

  defp statements(scope, n, path) do
    bind(statement(scope, path), fn {text, scope} ->
      map(statements(scope, n - 1, path <> "p"), &(indent(text) <> &1))
    end)
  end

  defp indent(text), do: "    #{text}\n"

  defp statement(scope, path) do
    bind(
      frequency([
        {4, constant(:report)},
        {4, constant(:send)},
        {3, constant(:value)},
        {2, constant(:create)},
        {2, constant(:become)},
        {2, constant(:branch)},
        {1, constant(:loop)},
        {1, constant(:match)},
        {1, constant(:abort)},
        {1, constant(:stray)},
        {1, constant(:function)}
      ]),
      &statement(&1, scope, path)
    )
  end

  defp statement(:report, scope, path),
    do: map(Expressions.expr(scope, 3, path), &{"send(out, {:report, #{&1}})", scope})

  defp statement(:send, scope, path) do
    map(
      tuple({member_of(scope.addresses), Expressions.expr(scope, 3, path), member_of(scope.addresses)}),
      fn {target, value, address} -> {"send(#{target}, {k - 1, #{value}, #{address}})", scope} end
    )
  end

  # A function that has captured a variable, for an actor to call: Elixir does not get it as it is.
  defp statement(:function, scope, path) do
    within = ["self()" | Enum.filter(scope.addresses, &String.starts_with?(&1, "c"))]
    # It has no effects, of which self() is one.
    inner = %{scope | values: ["x#{path}" | scope.values], addresses: []}

    map(
      tuple({member_of(within), Expressions.expr(inner, 2, path), Expressions.expr(scope, 1, path <> "v")}),
      fn {target, body, value} ->
        {"send(#{target}, {:apply, fn x#{path} -> #{body} end, #{value}})", scope}
      end
    )
  end

  defp statement(:value, scope, path) do
    map(Expressions.expr(scope, 4, path), fn value ->
      {"v#{path} = #{value}", %{scope | values: ["v#{path}" | scope.values]}}
    end)
  end

  defp statement(:create, scope, path) do
    map(behaviour(scope, path), fn behaviour ->
      {"c#{path} = create(#{behaviour})", %{scope | addresses: ["c#{path}" | scope.addresses]}}
    end)
  end

  defp statement(:become, scope, path) do
    map(
      frequency([{9, behaviour(scope, path)}, {1, constant("sink()")}]),
      &{"become(#{&1})", scope}
    )
  end

  defp statement(:branch, scope, path) do
    map(
      tuple({
        Expressions.expr(scope, 2, path <> "t"),
        statement(scope, path <> "y"),
        statement(scope, path <> "n")
      }),
      fn {test, {yes, _}, {no, _}} -> {"if #{test} do #{yes} else #{no} end", scope} end
    )
  end

  defp statement(:loop, scope, path) do
    inner = %{scope | values: ["e#{path}" | scope.values]}

    map(
      tuple({Expressions.source(scope, path), statement(inner, path <> "l")}),
      fn {source, {body, _}} -> {"for e#{path} <- #{source} do #{body} end", scope} end
    )
  end

  defp statement(:match, scope, path) do
    map(
      tuple({Patterns.pattern(scope, 1, path <> "q"), Expressions.expr(scope, 2, path)}),
      fn {{pattern, variables}, value} ->
        {"#{pattern} = #{value}", %{scope | values: variables ++ scope.values}}
      end
    )
  end

  defp statement(:abort, scope, path) do
    # What comes after one that always aborts is not run: so most of them seldom do.
    compared = frequency([{3, constant("==")}, {1, constant("!=")}])

    map(
      tuple({Expressions.expr(scope, 2, path <> "t"), compared, Expressions.expr(scope, 1, path)}),
      fn {test, is, reason} -> {"if (#{test}) #{is} 3 do abort(#{reason}) end", scope} end
    )
  end

  # A send to what is most likely no address; what is written out as none would not compile.
  defp statement(:stray, scope, path),
    do: map(Expressions.expr(scope, 1, path), &{"nobody = #{&1}\nsend(nobody, {:stray, k})", scope})

  defp behaviour(scope, path) do
    map(
      tuple({
        integer(0..(scope.actors - 1)),
        Expressions.expr(scope, 2, path),
        member_of(scope.addresses)
      }),
      fn {i, value, address} -> "a#{i}(out, #{value}, #{address})" end
    )
  end

  defp messages(actors) do
    list_of(
      tuple({integer(0..(actors - 1)), integer(1..3), Literals.term()}),
      min_length: 1,
      max_length: 4
    )
  end

  # -- running -------------------------------------------------------------------------------------------------

  @doc "Compiles a program and gives `fun` its module, which is forgotten afterwards."
  def with_module(%Program{source: source, errors: errors}, fun) do
    use_line = "use Mote.Behaviour, errors: #{inspect(errors)}"
    name = Module.concat(Mote.Generated, "P#{System.unique_integer([:positive])}")

    try do
      # Elixir has much to say about programs that chance has written.
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Mote.Compile.quietly("defmodule #{inspect(name)} do\n#{use_line}\n#{source}\nend", "program.ex")
      end)

      fun.(name)
    after
      Mote.Compile.purge(name)
      Mote.Interpret.forget(name)
    end
  end

  @doc "Runs a program in the reference; `opts` as for `Mote.Reference.new/1`."
  def run_reference(%Program{} = program, opts \\ []),
    do: with_module(program, &run_reference(program, &1, opts))

  @doc """
  The same with the module compiled: `outside`, the messages that left in order, `states` of the first actors, and
  `counters`. Addresses are numbered in the order in which they show up. `outside` and `states` are `:too_large` where they
  could not be compared.
  """
  def run_reference(%Program{} = program, module, opts) do
    {actors, ref} =
      Enum.map_reduce(behaviours(program, module), Reference.new(opts), fn behaviour, ref ->
        Reference.create(ref, behaviour)
      end)

    {starter, ref} = Reference.create(ref, Starter.starter())
    ref = ref |> Reference.send(starter, start(program, actors)) |> Reference.run(20_000)

    states =
      for address <- actors do
        case Reference.state(ref, address) do
          :sink -> :sink
          behaviour -> {behaviour.name, behaviour.captures}
        end
      end

    seen = {for({_, message} <- Reference.outside(ref), do: message), states}
    {outside, states} = if few_parts?(seen), do: normalise(seen), else: {:too_large, :too_large}
    counters = Reference.counters(ref)
    %{outside: outside, states: states, counters: counters, finished: Reference.pending(ref) == 0}
  end

  # A term in which the same part is found many times may be small here and without end to whoever goes through it.
  @most_parts 1_000_000

  @doc "Whether a run of the reference can be compared with others."
  @spec comparable?(map) :: boolean
  def comparable?(run), do: run.outside != :too_large

  # Parts that are shared are counted wherever they are found.
  defp few_parts?(term), do: room(term, @most_parts) > 0

  # How many parts there is room for beside these.
  defp room(_, room) when room <= 0, do: 0
  defp room([head | tail], room), do: room(tail, room(head, room - 1))
  defp room(tuple, room) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> room(room)
  defp room(map, room) when is_map(map), do: map |> Map.to_list() |> room(room)
  defp room(_, room), do: room - 1

  # What fuel or memory ends in a machine the reference goes on with.
  @limits [:aborts_fuel, :aborts_stack, :aborts_no_memory]

  @doc """
  Runs a program on a machine: `outside` and `counters` as in the reference, and whether turns were `limited`.

  A machine of several threads sends so many `messages`, unless it was limited; what one of one thread sends is known to be
  complete without that.
  """
  def run_machine(%Program{} = program, module, machine, messages \\ nil) do
    # What is left over ends with the process.
    fn -> ran(program, module, machine, messages) end |> Task.async() |> Task.await(:infinity)
  end

  defp ran(program, module, machine, messages) do
    actors = Enum.map(behaviours(program, module), &Mote.create(machine, &1))
    starter = Mote.create(machine, Starter.starter())
    before = Mote.info(machine).counters
    Mote.send(starter, start(program, actors))
    :ok = Mote.drain(machine, 60_000)
    counters = Map.new(Mote.info(machine).counters, fn {key, n} -> {key, n - before[key]} end)
    limited = Enum.any?(@limits, &(counters[&1] > 0))

    outside =
      cond do
        messages == nil ->
          # From the same thread, so it is the last.
          Mote.send(starter, [{self(), :that_is_all}])
          flush(:that_is_all)

        limited ->
          []

        true ->
          flush(messages)
      end

    %{outside: normalise(outside), counters: counters, limited: limited}
  end

  @doc "An actor on each tier, each in a machine of its own that ends with the test: interpreted, and as native code that is there."
  def on_tiers(module, behaviour) do
    for tier <- [:interp, :native] do
      machine = ExUnit.Callbacks.start_supervised!({Mote, tier: tier, id: make_ref()})
      if tier == :native, do: {:ok, _} = load(machine, module)
      Mote.create(machine, behaviour)
    end
  end

  @doc "Loads a module, and waits until it is compiled, where it is; what the compiler says then."
  def load(machine, module) do
    with :ok <- Mote.load(machine, module), do: compiled(machine)
  end

  defp compiled(machine) do
    case Mote.info(machine).native do
      %{pending: 0} = native ->
        {:ok, native}

      _ ->
        Process.sleep(1)
        compiled(machine)
    end
  end

  # Up to a message, or as many as are to come; more may be there.
  defp flush(last) do
    receive do
      ^last -> []
      message -> [message | flush(if(is_integer(last), do: last - 1, else: last))]
    after
      if(last == 0, do: 0, else: 30_000) -> []
    end
  end

  @doc "The behaviours of the first actors; everything they report goes to `self()`."
  def behaviours(%Program{actors: n}, module) do
    for i <- 0..(n - 1), do: apply(module, :"a#{i}", [self(), i, self()])
  end

  @doc "The message to `Mote.Generators.Starter` that starts a program: all its messages, sent in one turn."
  def start(%Program{messages: messages, actors: n}, actors) do
    for {i, steps, value} <- messages do
      {Enum.at(actors, i), {steps, value, Enum.at(actors, rem(i + 1, n))}}
    end
  end

  @doc "A term with its addresses replaced by numbers, in the order in which they show up."
  def normalise(term) do
    {term, _} = normalise(term, %{})
    term
  end

  defp normalise(%module{} = address, seen) when module in [Reference.Address, Mote.Address] do
    seen = Map.put_new(seen, address, {:address, map_size(seen)})
    {seen[address], seen}
  end

  defp normalise([head | tail], seen) do
    {head, seen} = normalise(head, seen)
    {tail, seen} = normalise(tail, seen)
    {[head | tail], seen}
  end

  defp normalise(tuple, seen) when is_tuple(tuple) do
    {list, seen} = tuple |> Tuple.to_list() |> normalise(seen)
    {List.to_tuple(list), seen}
  end

  defp normalise(map, seen) when is_map(map) do
    {pairs, seen} = map |> Map.to_list() |> normalise(seen)
    {Map.new(pairs), seen}
  end

  # Each run has a process of its own.
  defp normalise(pid, seen) when is_pid(pid), do: {:process, seen}
  # Floats by their bits: 0.0 and -0.0 are equal for older releases of OTP.
  defp normalise(float, seen) when is_float(float), do: {{:float, <<float::float>>}, seen}
  defp normalise(other, seen), do: {other, seen}
end
