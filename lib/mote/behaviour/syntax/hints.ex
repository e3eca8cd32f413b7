defmodule Mote.Behaviour.Syntax.Hints do
  # What to write instead of the Elixir constructs that are not in the language. Texts only.
  @moduledoc false

  alias Mote.Behaviour.{Error, Listing}
  alias Mote.Behaviour.Syntax.Elsewhere

  @functions "a behaviour can call defpure functions and what is listed in Mote.Behaviour"

  @constructs %{
    receive: "an actor gets its messages one at a time, as the clauses of its defactor",
    reraise: "write reraise e, __STACKTRACE__ in the clause of a rescue that has bound e",
    exit: "an actor ends by become sink(); a turn ends by abort(reason)",
    sigil_r: "a guard tests values: decide it in the body, with text =~ ~r/…/",
    sigil_R: "a guard tests values: decide it in the body, with text =~ ~r/…/",
    spawn: "make an actor with create name(…)",
    spawn_link: "make an actor with create name(…)",
    spawn_monitor: "make an actor with create name(…)",
    quote: "macros belong into the module, outside of behaviours",
    unquote: "macros belong into the module, outside of behaviours",
    import: "write it at the top of the module",
    alias: "write it at the top of the module",
    require: "write it at the top of the module",
    use: "write it at the top of the module",
    fn: "a guard tests values, and makes no functions",
    &: "a guard tests values, and makes no functions",
    super: "there is nothing to override",
    make_ref: "the address of a fresh actor is as unique: create sink()",
    node: "an actor's address says where it is: put a name into the message for the receiver",
    is_port: "no value of a machine is known to be a port",
    function_exported?: "which code is loaded is not known in a machine",
    macro_exported?: "which code is loaded is not known in a machine",
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

  # Effects that are often written without parentheses.
  @with_arguments [:send, :sendx, :send_after, :monitor, :become, :create, :abort]

  @hints Map.merge(@constructs, @definitions)

  @doc "Why a construct is not available, or nil."
  @spec construct(atom) :: String.t() | nil
  def construct(name) do
    case @hints do
      %{^name => hint} -> "#{spelling(name)} is not available in a behaviour: #{hint}"
      _ -> nil
    end
  end

  defp spelling(name) when name in [:sigil_r, :sigil_R], do: "a regex"
  defp spelling(name), do: to_string(name)

  # Words of other languages and libraries, where the module has no function of that name.
  @words %{
    reply: "write send customer, answer",
    return:
      "nothing returns early: the last expression of a body, or of a branch of if and case, is its value",
    xor: "write a != b for booleans, and bxor(a, b) of Bitwise for integers"
  }

  @doc "Says what to write instead of such a word, or nil."
  @spec word(atom) :: String.t() | nil
  def word(name), do: @words[name]

  @doc "Returns the right spelling of a misspelt effect or construct of the language."
  @spec effect_usage(atom, [Macro.t()]) :: String.t() | nil
  def effect_usage(name, args) do
    arity = length(args)
    usage = usage(name)

    cond do
      usage == nil ->
        nil

      name == :gather and not match?([_, _, _, {form, _, _}] when form in [:fn, :&], args) ->
        nil

      name in @with_arguments and match?([{:do, _} | _], List.last(args)) ->
        "this do block belongs to #{name}, and not to its last argument: write parentheses, #{name}(…, case … do … end)"

      true ->
        "#{name} with #{arity} argument#{if arity != 1, do: "s"} does not exist: write #{usage}"
    end
  end

  defp usage(name) do
    case name do
      :send -> "send target, message"
      :sendx -> "sendx sponsor, target, message"
      :send_after -> "send_after(milliseconds, target, message)"
      :cancel_timer -> "cancel_timer(timer)"
      :monitor -> "monitor(process, message), or monitor(process, target, message)"
      :demonitor -> "demonitor(monitor)"
      :create -> "create name(…), or create name(…), sponsor: name"
      :become -> "become name(…), become capture: value, or become sink()"
      :gather -> "create gather(customer, count, initial, fun), or become gather(…)"
      :stash -> "stash(), or stash capture: value"
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

  @doc "Reports a function of Kernel that is not a primitive."
  @spec kernel(atom, arity, Macro.Env.t()) :: no_return
  def kernel(name, arity, env) do
    Error.raise_at(
      env,
      env.line,
      "#{name}/#{arity} is not available in a behaviour: #{@functions}" <>
        Error.suggestion("#{name}/#{arity}", known())
    )
  end

  @doc "Lists the functions that can be called without a module, as `name/arity`, for suggestions."
  @spec known() :: [String.t()]
  def known, do: for({module, name, arity} <- Listing.all(), module in [nil, Kernel], do: "#{name}/#{arity}")

  @doc "Why a function of a module of Elixir or Erlang cannot be called, or nil; not of modules with macros that can be."
  @spec remote(module, atom, arity) :: String.t() | nil
  def remote(module, name, arity) do
    if module == Mote,
      do: refused(module, name, arity, "which runs in a machine: #{own(name)}", ","),
      else: remote(Elsewhere.reason(module, name, arity), module, name, arity)
  end

  defp remote(nil, module, name, arity) do
    if module in [Enum, List, Map, MapSet, Keyword, Tuple, String, Range, Access, Float, Atom, Base, Regex] or
         module in [:lists, :maps, :queue, :binary, :math, :rand, :erlang, Mote.Vector],
       do: library(module, name, arity)
  end

  defp remote(reason, module, name, arity), do: refused(module, name, arity, reason, ":")

  @doc "Why `String.downcase/2` and its relatives do not take `:greek`."
  @spec greek(atom) :: String.t()
  def greek(name) do
    reason =
      "which sigma ends a word takes tables of Unicode that are not in a machine: write String.#{name}/1, or call it before you send"

    "String.#{name}/2 with :greek is not available in a behaviour: #{reason}"
  end

  defp own(name) when name in [:ask, :ask!, :async, :await, :await!, :await_many],
    do: "an actor does not wait: write send actor, {self(), request}, and the answer comes as a message"

  defp own(name), do: if(usage = usage(name), do: "write #{usage}", else: @functions)

  defp refused(module, name, arity, reason, sign),
    do: "#{inspect(module)}.#{name}/#{arity} is not available in a behaviour#{sign} #{reason}"

  @doc "Why a macro has not been expanded."
  @spec macro(module, atom, arity) :: String.t()
  def macro(module, name, arity),
    do:
      "#{inspect(module)}.#{name}/#{arity} is a macro: write require #{inspect(module)} at the top of the module"

  @doc "Why a function of a module without behaviours cannot be called."
  @spec foreign(module, atom, arity) :: String.t()
  def foreign(module, name, arity) do
    if library?(module) do
      library(module, name, arity)
    else
      "#{inspect(module)}.#{name}/#{arity} cannot be called: #{@functions}; #{inspect(module)} is not a Mote.Behaviour " <>
        "module: write the function there with defpure, name the module in use Mote.Behaviour, import: [#{inspect(module)}], or " <>
        "call it before you send"
    end
  end

  # There is something of it.
  defp library?(module), do: Enum.any?(Listing.all(), &match?({^module, _, _}, &1))

  defp library(module, name, arity) do
    text = "#{inspect(module)}.#{name}/#{arity}"
    known = for {^module, name, arity} <- Listing.all(), do: "#{inspect(module)}.#{name}/#{arity}"
    missing = "#{text} is not available in a behaviour"

    case {deprecated(module, {name, arity}) || Error.suggestion(text, known), known} do
      {"", []} -> "#{missing}: #{@functions}"
      {"", _} -> "#{missing}; what there is of #{inspect(module)} is listed in Mote.Behaviour"
      {suggestion, _} -> missing <> suggestion
    end
  end

  # Elixir says itself what is to take the place of a function that it wants to be rid of.
  defp deprecated(module, function) do
    with true <- Code.ensure_loaded?(module) and function_exported?(module, :__info__, 1),
         {_, instead} <- List.keyfind(module.__info__(:deprecated), function, 0) do
      ", and deprecated in Elixir: #{instead}"
    else
      _ -> nil
    end
  end

  @doc "The sentence about what can be called."
  def functions, do: @functions
end
