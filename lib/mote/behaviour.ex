defmodule Mote.Behaviour do
  @moduledoc """
  Behaviours: the code of actors, written in Elixir syntax.

      defmodule Counter do
        use Mote.Behaviour

        @doc "Counts, and answers with the count."
        defactor counter(count) do
          {customer, :read} -> send customer, count
          {:add, n} when is_integer(n) -> become counter(count + n)
        end
      end

  `defactor name(captures) do clauses end` defines a behaviour. Its clauses match the message, and its captures are
  the state. The module gets a function of that name, which returns a `Mote.Behaviour` struct to create actors with.
  `defpure name(arguments) do … end` defines a function that behaviours can call, with several clauses and guards as
  `def`; it can also be called from plain Elixir.

  Both are compiled twice from the same source: to a unit of code for the machine (see `guides/ir.md`), and by Elixir itself, with
  the words below imported. `turn/3` runs the second, which is all that a test needs:

      iex> defmodule Doc.Echo do
      ...>   use Mote.Behaviour
      ...>   defactor echo(prefix) do
      ...>     {customer, word} -> send customer, {prefix, word}
      ...>   end
      ...> end
      iex> Mote.Behaviour.turn(Doc.Echo.echo(:heard), {self(), :hello}).sends == [{self(), {:heard, :hello}}]
      true

  ## The language

  It is a subset of Elixir with Elixir's own meaning: literals, variables, `=` with patterns, `case`, `cond`, `if`,
  `with`, guards, arithmetic, comparison, booleans, tuples, lists, maps, binaries, ranges, `in`, and `for` (also `for <<x
  <- binary>>`, with `into:` and `reduce:`). Most of the pure functions of `Enum`, `List`, `Map`, `MapSet`, `Keyword`,
  `Tuple`, `Range`, `Integer`, `Float`, `String`, `Base`, `:lists` and `:maps` are in it, too; they are listed below. Functions
  as arguments are written where they are used (`fn x -> … end`, `&(&1 + 1)`, `&name/1`), and become part of the code around
  them. Macros are expanded. On top of it there are

    * `self()`, `send target, message`, `sendx sponsor, target, message`;
    * `send_after(milliseconds, target, message)`, which returns a timer (its arguments are in a different
      order from those of `Process.send_after/3`), and `cancel_timer(timer)`: see `Mote.Timer`;
    * `monitor(process, message)`, which sends the actor the message when a process has ended, and `monitor(process,
      target, message)`, which sends it to a target; both return a monitor for `demonitor(monitor)`: see `Mote.Timer`;
    * `create name(…)`, `create Module.name(…)`, `create name(…), sponsor: name`;
    * `become name(…)`, `become sink()`; the last one of a turn wins;
    * `become capture: value, …`, which stays in the same behaviour and keeps the other captures as they were at the start of
      the turn;
    * `stash()` and `stash capture: value, …`, which keep the message of the turn, and are a become of the same
      behaviour otherwise. When the actor becomes another behaviour, it takes up the stashed messages again,
      before everything that waits for it;
    * `create gather(customer, count, initial, fun)` and `become gather(…)`, for an actor that waits for `count` messages, puts
      them together with `fun`, as `Enum.reduce/3` does, and sends the result to the customer;
    * `defeffect`, for code with effects that several clauses share: see `defeffect/2`;
    * `Mote.Directory.send(directory, key, message)`, which sends to an actor by its key: see `defdirectory/2` and
      `Mote.Directory`;
    * `abort(reason)`, which ends the turn without footprints, as `raise` would elsewhere;
    * `on(sponsor, address)`, `is_address(term)`.

  Maps support `%{key => value}`, `map.key`, `map[key]`, `%{map | key => value}`, patterns with literal and pinned
  keys, and most functions of `Map`. Everything that goes through a map, including loops, does so in the order of
  its keys, which Elixir leaves open. `%Name{}` makes and matches structs, which are maps;
  `%Name{struct | key: value}` and `struct!/2` update them. An address is not a struct here. Queues are those of
  `:queue`.

  Binaries and bitstrings have patterns and are put together with `<<…>>`, with segments of the types `integer` (of up to 128
  bits; of up to 64 where a variable has the size), `float` (32 or 64), `binary`, `bits` and `utf8`, and with `<>`. There
  are `byte_size/1`, `bit_size/1`, `binary_part/3`, `:binary.at/2` and `to_string/1` (of binaries, atoms, numbers and lists
  of characters), which interpolation calls. Parts are not copied, unless they begin within a byte and are whole bytes.

  `fn` and `&` make functions, which are values like others: they can be kept, sent and called, `fun.(x)`, and have no
  effects. Elixir gets a `Mote.Function`. Functions of Elixir are carried as they are, and cannot be called.

  `Mote.Vector` has packed arrays of numbers, `Mote.Integer` arithmetic modulo 2^64: their functions are primitives.

  `System.monotonic_time(unit)` is the time since the start of the machine, by its clock, in nanoseconds,
  microseconds, milliseconds or seconds (`Mote.now/1` returns milliseconds). It is read when the turn comes to it.

  Everything that is not in the language is a `Mote.CompileError` that says what to write instead. The
  compiler warns about unused variables and captures, about clauses that can never match, and about clauses of
  one function with something else between them. It also warns about a value in the last line of a clause
  (`count + n`, `{:noreply, count}`), which is discarded: an actor is what it becomes.

  Whether 0.0 and -0.0 are the same (`===`, patterns, keys of maps) is as in Elixir code on the same node: they are two
  terms from OTP 27 on, where a pattern says `+0.0` or `-0.0`, and the compiler warns about one without a
  sign. They are `==` everywhere.

  ## Errors

  Where Elixir would raise, the turn is aborted: `1 + :a`, `hd([])`, a key that is missing, a value that no clause of
  a `case` fits. The same happens where a machine can do less than Elixir: an integer of more than 2^20 bits is a
  `SystemLimitError`. The turn has no effects, its message is used up, and the actor goes on as it was. The abort is
  counted (`aborts_raised` in `Mote.info/1`), reported to telemetry and the log with the exception, the line and the
  operands, and the caller that asked gets `:aborted`. A guard fails, as in Elixir. A `try` catches such an exception,
  and those of `raise` and `throw`, and undoes the part that failed: see [the guide](language.md#try). `Mote.Raised`
  turns the reason into the exception, even if the turn ran in Elixir. A function that Elixir calls raises it.

      iex> defmodule Doc.Purse do
      ...>   use Mote.Behaviour
      ...>   defactor purse(balance) do
      ...>     {customer, price} -> if balance - price >= 0, do: send(customer, :granted)
      ...>   end
      ...> end
      iex> turn = Mote.Behaviour.turn(Doc.Purse.purse(10), {self(), :apples})
      iex> {:abort, reason} = turn.outcome
      iex> Mote.Raised.exception(reason)
      %ArithmeticError{message: "bad argument in arithmetic expression"}

  With `use Mote.Behaviour, errors: :undefined` a module chooses the total operations of the machines that Mote
  descends from: an operation without an answer returns the atom `:undefined`, and the code goes on with it. No check
  passes because of it: `<`, `<=`, `>` and `>=` with `:undefined` are `:undefined` again, or fail a guard, and a
  condition that is `:undefined` counts as false: one of `if`, `cond`, `&&`, `||`, `!`, of a filter, or of a function
  that is given to `Enum.filter/2`, `Enum.any?/2` and the like. `==` and its relatives compare it like any other atom.
  A library function that Mote has written in the language (`Enum.sort/1`, `Enum.count/1`) aborts the turn where it
  fails, in such a module too. In plain Elixir operators, functions of Kernel and other primitives such as `Map.put/3`
  return `:undefined`. Functions of `Enum`, `<<…>>` and `%{map | key: value}` raise.

      iex> defmodule Doc.Total do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defpure affordable?(balance, price), do: balance - price >= 0
      ...>   defpure verdict(balance, price), do: if(affordable?(balance, price), do: :granted, else: :refused)
      ...> end
      iex> {Doc.Total.affordable?(10, :apples), Doc.Total.verdict(10, :apples), Doc.Total.verdict(10, 3)}
      {:undefined, :refused, :granted}

  ## Plain Elixir

  `use Mote.Behaviour, import: [MyApp.Pricing]` makes functions of plain Elixir modules available, if they have no
  effects. They are compiled for the machine from the debug information of these modules:

      defmodule Badge do
        use Mote.Behaviour, import: [MyApp.Names]

        defactor badge() do
          {customer, name} -> send customer, MyApp.Names.initials(name)
        end
      end

  The guide *The language* says more about it.

  ## What bodies may call

  Functions made with `defpure`, of this and of other modules, and with `defpurep` and `defeffect`, of this
  one; functions of imported modules; functions of `Date`, `Time`, `NaiveDateTime`, `DateTime`, `Calendar`, `URI` and `Version`, and of
  Erlang's `:array`, `:calendar`, `:gb_sets`, `:gb_trees`, `:lists`, `:orddict`, `:ordsets`, `:proplists` and `:queue`, which are compiled
  from their own definitions; macros that expand to what is listed here; and the following. The part of Elixir's library that Mote
  has written in the language itself is loaded with the first module that calls it. Left out are functions
  that have effects or depend on a process or a node, `Stream`, whose values are functions, and functions that
  normalize Unicode. Functions that count characters (`String.length/1`, `slice/3`, `pad_leading/3`, …) count
  as Elixir does, emoji and combining marks included.

  #{Mote.Behaviour.Listing.text()}
  """

  alias Mote.Behaviour.{Compiler, Error, Written}

  @enforce_keys [:module, :name, :version]
  defstruct [:module, :name, :version, captures: {}]

  @typedoc """
  A behaviour with its captures. `version` is the hash of the module's unit, below 2^59. `inspect/1` shows
  only the number of captures, since they may be large; `captures` has them.
  """
  @type t :: %__MODULE__{
          module: module,
          name: atom,
          version: non_neg_integer,
          captures: tuple
        }

  defmacro __using__(opts) do
    opts = options!(opts)

    quote do
      Compiler.begin(__MODULE__, unquote(opts[:errors] || :abort), unquote(opts[:import] || []), __ENV__)

      import Mote.Behaviour,
        only: [
          defactor: 2,
          defactor: 3,
          defchange: 2,
          defdirectory: 2,
          defeffect: 1,
          defeffect: 2,
          defpure: 1,
          defpure: 2,
          defpurep: 1,
          defpurep: 2
        ]
    end
  end

  defp options!(opts) do
    if Keyword.keyword?(opts) and Enum.all?(opts, &option?/1) and Enum.uniq_by(opts, &elem(&1, 0)) == opts do
      opts
    else
      raise ArgumentError,
            "use Mote.Behaviour takes the options errors: :abort (the default) or errors: :undefined, and " <>
              "import: [Module], got: " <> Macro.to_string(opts)
    end
  end

  defp option?({:errors, errors}), do: errors in [:abort, :undefined]
  defp option?({:import, modules}), do: is_list(modules)
  defp option?(_), do: false

  @doc """
  Defines a behaviour: `defactor name(capture, …) do pattern when guard -> body … end`.

  A message that no clause matches is ignored and counted (`ignored` in `Mote.Counters`), as is each message to `sink()`, the
  behaviour without clauses.

  `defactor name(capture, …), to: Module.other(…)` gives another name to a behaviour, of this or of another module, with
  the captures and constants as its own captures: for Elixir, and where a behaviour says `create Module.name(…)`, it is that
  behaviour. Captures may have constants as defaults, `defactor counter(count \\\\ 0) do`, which makes such a name, too. A
  constant is made of literals, also by functions of the standard library: `MapSet.new()`, `:queue.new()`. So a
  module can be the front door of others, as `Mote.Library` is. Mix compiles modules that name it again when it
  changes.

      defactor empty_cell(), to: Mote.Library.cell(nil)
  """
  defmacro defactor(head, body), do: define(:actor, head, body, __CALLER__)

  @doc """
  Defines a behaviour whose turns may call any Elixir, and block: `defactor name(capture, …), beam: true do … end`.

  Its clauses are plain Elixir. For effects they have the words of `Mote.Behaviour.Beam`. Its actors live in **beam
  sponsors** (`Mote.add_sponsor(machine, :io, beam: true)`), to which they are pinned from the start:
  `Mote.create(machine, fetch(url), sponsor: :io)`, and in a behaviour `create fetch(url), sponsor: :io`. Creating or
  becoming one where its turns could not run is a `Mote.CompileError` where the compiler sees it; otherwise a
  `Mote.Error` (`:beam_only`), or the turn is aborted with `{:beam_only, {module, name}}`.

      defmodule Lines do
        use Mote.Behaviour

        defactor lines(path), beam: true do
          {customer, :count} -> send customer, path |> File.stream!() |> Enum.count()
        end
      end

  A turn that raises, throws, exits, is killed or takes longer than the sponsor's `:timeout` is aborted. See the guide *Beam
  sponsors*.
  """
  defmacro defactor(head, opts, body) do
    with [beam: true] <- opts, [do: [{:->, _, _} | _]] <- body do
      define(:beam, head, body, __CALLER__)
    else
      _ ->
        Error.raise_at(
          __CALLER__,
          __CALLER__.line,
          "defactor takes the option beam: true, and clauses that match the message: " <>
            "defactor name(capture), beam: true do pattern -> body end"
        )
    end
  end

  @doc """
  Converts actors of an older version of this module, whose behaviour had other captures: `defchange name(captures),
  do: behaviour`.

  The name and the captures are those of the older version. The block ends with the actor's new behaviour, of this or
  of another module. It runs when the actor gets its next message, which the new behaviour then takes. Stashed
  messages are taken up again before it. The older behaviour may have stashed or not, and become or not.

  No `defchange` is needed if the new captures come last and have defaults. See `Mote.load/2`.

      iex> defmodule Doc.Meter do
      ...>   use Mote.Behaviour
      ...>   # It was counter({n, step}).
      ...>   defactor counter(n, step, unit) do
      ...>     {customer, :read} -> send customer, {n, unit}
      ...>     :tick -> become n: n + step
      ...>   end
      ...>   defchange counter(pair), do: counter(elem(pair, 0), elem(pair, 1), :tick)
      ...> end
      iex> Doc.Meter.__mote__(:behaviours)
      [counter: 3]
  """
  defmacro defchange(head, body), do: define(:change, head, body, __CALLER__)

  @doc """
  Defines a function without effects that behaviours (and plain Elixir) can call.

  Several clauses of the same name and arity belong together, as with `def`. Tail calls take no stack. Arguments may have
  defaults; several clauses have them in one head before all of them, without a body.

      iex> defmodule Doc.Price do
      ...>   use Mote.Behaviour
      ...>   defpure gross(net, percent \\\\ 19)
      ...>   defpure gross(0, _), do: 0
      ...>   defpure gross(net, percent), do: net + div(net * percent, 100)
      ...> end
      iex> {Doc.Price.gross(200), Doc.Price.gross(200, 7)}
      {238, 214}
  """
  defmacro defpure(head, body), do: define(:pure, head, body, __CALLER__)

  @doc """
  Defines a function as `defpure/2` does, for the behaviours and functions of this module alone.
  """
  defmacro defpurep(head, body), do: define(:private, head, body, __CALLER__)

  @doc """
  Defines a function with effects: code that several clauses, or several behaviours of the module, have in common.

  It is written like `defpure/2`, with clauses, guards and defaults, and may do all that a clause of a behaviour may do:
  `send`, `create`, `become`, `self()` and the rest act for the actor whose turn it is. Its value is that of its last
  expression. It may call itself. It belongs to its module: other modules and plain Elixir cannot call it, and neither
  can a `defpure`.

      iex> defmodule Doc.Till do
      ...>   use Mote.Behaviour
      ...>   defeffect receipt(customer, sum, log) do
      ...>     send customer, {:paid, sum}
      ...>     send log, {:sale, sum}
      ...>     sum
      ...>   end
      ...>   defactor till(total, log) do
      ...>     {customer, {:card, sum}} -> become total: total + receipt(customer, sum, log)
      ...>     {customer, {:cash, sum, given}} when given >= sum ->
      ...>       send customer, {:change, given - sum}
      ...>       become total: total + receipt(customer, sum, log)
      ...>   end
      ...> end
      iex> turn = Mote.Behaviour.turn(Doc.Till.till(0, :log), {:me, {:cash, 8, 10}})
      iex> {turn.sends, turn.become}
      {[{:me, {:change, 2}}, {:me, {:paid, 8}}, {:log, {:sale, 8}}], Doc.Till.till(8, :log)}

  `become capture: value` names captures of the behaviour that it stands in, and so has no meaning here:
  return the value, and let the clause become.
  """
  defmacro defeffect(head, body), do: define(:effect, head, body, __CALLER__)

  @doc "The head of a `defpure/2` of several clauses, with the defaults of its arguments: `defpure name(a, b \\\\ 1)`."
  defmacro defpure(head), do: define(:pure, head, nil, __CALLER__)

  @doc "The head of a `defpurep/2` of several clauses, with the defaults of its arguments."
  defmacro defpurep(head), do: define(:private, head, nil, __CALLER__)

  @doc "The head of a `defeffect/2` of several clauses, with the defaults of its arguments."
  defmacro defeffect(head), do: define(:effect, head, nil, __CALLER__)

  @doc """
  Defines a directory: which behaviour an actor starts with, by its key.

  The module gets a function `name(captures)` for `Mote.Directory.start/3`. The clauses match the key, and each ends
  with a behaviour. A key that no clause matches, or whose clause ends with `nil`, starts no actor. `self()` is the
  shard of the directory that has the key. The captures may have defaults, as those of a `defactor`. A clause may also
  end with a `create` that names a sponsor: behaviours with `beam: true` need one. See `Mote.Directory`.

      defdirectory rooms(log) do
        {:room, name} when is_binary(name) -> Room.room(name, log)
        {:file, path} -> create Disk.file(path), sponsor: :io
      end
  """
  defmacro defdirectory(head, body), do: Mote.Behaviour.Directory.definitions(head, body, __CALLER__)

  # Looked at when the module's body runs, so that attributes have the value they have at this line.
  defp define(kind, head, body, %{module: module, function: function} = env) do
    if module == nil or function != nil do
      Error.raise_at(env, env.line, "behaviours and their functions are defined in the body of a module")
    end

    if Written.unquotes?([head | body]) do
      [head, body] = Enum.map([head, body], &Macro.escape(&1, unquote: true))
      number = Written.keep(env, env)
      quote do: Compiler.define(__MODULE__, unquote(kind), unquote(head), unquote(body), unquote(number))
    else
      number = Written.keep({kind, head, body, env}, env)
      quote do: Compiler.define(__MODULE__, unquote(number))
    end
  end

  @doc false
  defmacro __before_compile__(env), do: Compiler.compile(env)

  @doc """
  Runs one turn of the plain Elixir version of a behaviour. Returns a `Mote.Turn`, which says what the turn did.

  Nothing is sent or created: the effects are only listed. Raises `ArgumentError` if the first argument is not a behaviour
  or an option is unknown. Options:

    * `self`: the address of the actor, or an atom that stands for it (default a `Mote.Reference.Address` with id 0);
    * `now`: the time that it reads, in nanoseconds (default the system's, since the start of the node);
    * `first`: the id of the first address that the turn creates (default 1);
    * `addresses`: a function without arguments that returns an address for every actor created, instead.
  """
  @spec turn(t, term, keyword) :: Mote.Turn.t()
  def turn(behaviour, message, opts \\ [])

  def turn(%__MODULE__{captures: captures} = behaviour, message, opts) when is_tuple(captures) do
    %{module: module, name: name} = behaviour
    beam? = fn -> {name, tuple_size(captures)} in module.__mote__(:beam) end
    Mote.Turn.run(fn -> module.__mote_turn__(name, captures, message) end, opts, beam?)
  end

  def turn(other, _message, _opts) do
    raise ArgumentError,
          "expected a behaviour, the value of a function that defactor defines, such as Counter.counter(0); " <>
            "got: #{inspect(other)}"
  end

  defimpl Inspect do
    import Inspect.Algebra

    # As it is written: in a test that fails, two behaviours that differ look different.
    def inspect(%{module: module, name: name, captures: captures}, opts) when is_tuple(captures) do
      call = "#{Kernel.inspect(module)}.#{name}("
      concat(["#Mote.Behaviour<", container_doc(call, Tuple.to_list(captures), ")", opts, &to_doc/2), ">"])
    end

    def inspect(%{module: module, name: name}, _opts),
      do: "#Mote.Behaviour<#{Kernel.inspect(module)}.#{name}(?)>"
  end
end
