defmodule Mote.Behaviour.Syntax.Hints do
  # What to write instead of the Elixir constructs that are not in the language. Texts only.
  @moduledoc false

  alias Mote.Behaviour.{Error, Primitives}

  @functions "a behaviour can call defpure functions and the primitives listed in Mote.Behaviour"

  @constructs %{
    receive: "an actor gets its messages one at a time, as the clauses of its defactor",
    try: "what would raise in a behaviour aborts the turn, and nothing of it shows",
    raise: "end the turn with abort(reason)",
    reraise: "end the turn with abort(reason)",
    throw: "end the turn with abort(reason)",
    exit: "an actor ends by become sink(); a turn ends by abort(reason)",
    spawn: "make an actor with create name(…)",
    spawn_link: "make an actor with create name(…)",
    spawn_monitor: "make an actor with create name(…)",
    quote: "macros belong into the module, outside of behaviours",
    unquote: "macros belong into the module, outside of behaviours",
    import: "write it at the top of the module",
    alias: "write it at the top of the module",
    require: "write it at the top of the module",
    use: "write it at the top of the module",
    fn: "functions are not values here; write a defpure function, or use fn as argument of a loop of Enum",
    &: "functions are not values here; write a defpure function, or use & as argument of a loop of Enum",
    super: "there is nothing to override",
    apply: "functions are not values here; call a defpure function by name",
    make_ref: "the address of a fresh actor is as unique: create sink()",
    inspect: "to_string/1 makes text of binaries, atoms and numbers",
    dbg: "send what you want to see to a customer",
    binding: "name the variables",
    ^: "a pinned variable belongs into a pattern",
    |: "it belongs into a list, [head | tail]",
    when: "a guard belongs behind the pattern of a clause",
    <-: "a generator belongs into a for",
    ->: "a clause belongs into case, cond, fn or for with reduce:",
    "::": "it belongs into a segment of <<…>>"
  }

  @definitions Map.new(
                 [:def, :defp, :defmacro, :defmacrop, :defguard, :defguardp, :defdelegate] ++
                   [:defmodule, :defimpl, :defprotocol, :defstruct, :defexception, :defoverridable],
                 &{&1, "definitions belong into the module, outside of behaviours"}
               )

  @hints Map.merge(@constructs, @definitions)

  @doc "Why a construct is not available, or nil."
  @spec construct(atom, arity) :: String.t() | nil
  def construct(name, _arity) do
    case @hints do
      %{^name => hint} -> "#{spelling(name)} is not available in a behaviour: #{hint}"
      _ -> nil
    end
  end

  defp spelling(name), do: to_string(name)

  @doc "How an effect or a construct that is part of the language is spelled, when it was spelled wrongly."
  @spec effect_usage(atom, arity) :: String.t() | nil
  def effect_usage(name, arity) do
    usage = usage(name)
    usage && "#{name} with #{arity} argument#{if arity != 1, do: "s"} does not exist: write #{usage}"
  end

  defp usage(name) do
    case name do
      :send -> "send target, message"
      :sendx -> "sendx sponsor, target, message"
      :send_after -> "send_after(milliseconds, target, message)"
      :cancel_timer -> "cancel_timer(timer)"
      :create -> "create name(…), or create name(…), sponsor: name"
      :become -> "become name(…), or become sink()"
      :abort -> "abort(reason)"
      :self -> "self()"
      :on -> "on(sponsor, address)"
      :sink -> "become sink() or create sink()"
      :case -> "case value do … end"
      :cond -> "cond do … end"
      :if -> "if condition do … end"
      :unless -> "unless condition do … end"
      :with -> "with pattern <- value, do: …"
      :for -> "for pattern <- list, do: …"
      _ -> nil
    end
  end

  @doc "Reports a function of Kernel that is no primitive."
  @spec kernel(atom, arity, Macro.Env.t()) :: no_return
  def kernel(name, arity, env) do
    Error.raise_at(
      env,
      env.line,
      "#{name}/#{arity} is not available in a behaviour: #{@functions}" <>
        Error.suggestion("#{name}/#{arity}", Primitives.spellings())
    )
  end

  @doc "Why a function of a module of Elixir or Erlang cannot be called, or nil."
  @spec remote(module, atom, arity) :: String.t() | nil
  def remote(module, name, arity) do
    text = "#{inspect(module)}.#{name}/#{arity}"

    case module do
      Enum ->
        "#{text} is not available in a behaviour; what there is of Enum is listed in Mote.Behaviour, and there is for"

      Stream ->
        "#{text} is not available in a behaviour: a stream is a function, and functions are not values here; write " <>
          "the function of Enum of that name, or a defpure function that calls itself"

      String when {name, arity} in [upcase: 1, downcase: 1] ->
        "#{text} is not available in a behaviour, which knows the letters of ASCII only: write " <>
          "String.#{name}(text, :ascii)"

      module when module in [String, :binary] ->
        "#{text} is not available in a behaviour; what there is of String is listed in Mote.Behaviour; binaries have " <>
          "patterns, <<…>>, <>, byte_size/1, binary_part/3, :binary.at/2 and to_string/1"

      module when module in [List, Tuple, Keyword] ->
        "#{text} is not available in a behaviour; what there is of #{inspect(module)} is listed in Mote.Behaviour, and " <>
          "lists and tuples have patterns"

      :math ->
        "#{text} is not available in a behaviour" <>
          Error.suggestion(text, Primitives.spellings() ++ [":math.pi/0"])

      Mote.Vector ->
        "#{text} is not available in a behaviour" <>
          Error.suggestion(
            text,
            Primitives.spellings() ++ for(name <- ~w(add sub mul div min max), do: "Mote.Vector.#{name}/2")
          )

      :rand ->
        "#{text} is not available in a behaviour; of :rand there are uniform/0 and uniform/1"

      :erlang ->
        "#{text} is not available in a behaviour: #{@functions}"

      Map ->
        "#{text} is not available in a behaviour; what there is of Map is listed in Mote.Behaviour, and maps have " <>
          "literals, patterns, %{map | key: value}, map.key, map_size/1 and for"

      Access ->
        "#{text} is not available in a behaviour: write map[key] or get_in(map, keys)"

      Mote ->
        what = if usage = usage(name), do: "write #{usage}", else: @functions
        "#{text} is not available in a behaviour, which runs in a machine: #{what}"

      System when name == :system_time ->
        "#{text} is not available in a behaviour: there is System.monotonic_time(unit)"

      module when module in [Range, Process, GenServer, Agent, Task, IO, File, System] ->
        "#{text} is not available in a behaviour: #{@functions}; what touches the world is a message to a BEAM " <>
          "process"

      _ ->
        nil
    end
  end

  @doc "The sentence about what can be called."
  def functions, do: @functions
end
