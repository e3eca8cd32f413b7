defmodule Mote.Behaviour.Listing do
  # What bodies may call, as the documentation of `Mote.Behaviour` lists it: read from the tables of the
  # passes that accept it, except for the parts of the syntax. It decides nothing.
  @moduledoc false

  alias Mote.Behaviour.Primitives
  alias Mote.Behaviour.Syntax.{Calls, Loops, Maps, Paths}

  @type entry :: {module | nil, atom, arity}

  # What the syntax pass takes apart itself, and is no primitive.
  @operators [=: 2, and: 2, or: 2, &&: 2, ||: 2, !: 1, in: 2, <>: 2, +: 1, |>: 2, ..: 0, ..: 2] ++
               [{String.to_atom("..//"), 3}]
  @functions [if: 2, unless: 2, match?: 2, destructure: 2, tap: 2, then: 2, apply: 2] ++
               [is_nil: 1, is_map_key: 2] ++
               [struct: 1, struct!: 1] ++
               [is_struct: 1, is_struct: 2, is_exception: 1, is_exception: 2] ++
               if(macro_exported?(Kernel, :is_non_struct_map, 1), do: [is_non_struct_map: 1], else: []) ++
               Paths.macros()
  @effects [
    self: 0,
    send: 2,
    sendx: 3,
    send_after: 3,
    cancel_timer: 1,
    create: 1,
    create: 2,
    become: 1,
    stash: 0,
    stash: 1,
    again: 0,
    abort: 1
  ]

  # Macros that consist of these when they are expanded; they must be required, as everywhere.
  @macros [
    {Integer, :is_even, 1},
    {Integer, :is_odd, 1},
    {Record, :is_record, 1},
    {Record, :is_record, 2}
  ]

  # Of Mote, though they are written without a module.
  @own [:on, :is_address]

  @doc "All there is."
  @spec all() :: [entry]
  def all, do: Enum.flat_map(groups(), fn {_title, entries} -> entries end)

  @doc "The list as Markdown."
  @spec text() :: String.t()
  def text do
    Enum.map_join(groups(), "\n", fn {title, entries} ->
      "  * #{title}: #{entries |> Enum.map(&spelling/1) |> Enum.uniq() |> Enum.join(", ")}"
    end)
  end

  @doc """
  What of the list has no page to link to in the release of Elixir that this is: what came later, and what is hidden
  because it is deprecated.
  """
  @spec unlinked() :: [String.t()]
  def unlinked do
    for {module, entries} <- Enum.group_by(all(), &elem(&1, 0)),
        module != nil,
        documented = documented(module),
        {_, name, arity} <- Enum.sort(entries),
        {name, arity} not in documented,
        do: "#{inspect(module)}.#{name}/#{arity}"
  end

  # With the arities that defaults make. A module that Erlang has is taken to document what it exports.
  defp documented(module) do
    case Code.fetch_docs(module) do
      {:docs_v1, _, :elixir, _, _, _, docs} ->
        for {{kind, name, arity}, _, _, doc, about} <- docs,
            kind in [:function, :macro] and doc != :hidden,
            arity <- (arity - Map.get(about, :defaults, 0))..arity,
            do: {name, arity}

      _ ->
        module.module_info(:exports)
    end
  end

  @doc "Returns the spelling of an entry in the list."
  @spec spelling(entry) :: String.t()
  def spelling({nil, name, arity}),
    do: if(Macro.operator?(name, arity), do: "`#{name}`", else: "`#{name}/#{arity}`")

  def spelling({module, name, arity}), do: "`#{inspect(module)}.#{name}/#{arity}`"

  defp groups do
    {local, remote} = Enum.split_with(primitives(), &match?({nil, _, _}, &1))
    local = local ++ of_kernel(@operators ++ @functions)
    {own, local} = Enum.split_with(local, fn {nil, name, _} -> name in @own end)
    {operators, functions} = Enum.split_with(local, fn {nil, name, arity} -> Macro.operator?(name, arity) end)

    {tests, functions} =
      Enum.split_with(functions, fn {nil, name, _} -> String.starts_with?("#{name}", "is_") end)

    [
      {"operators", operators},
      {"tests", Enum.sort(tests)},
      {"of `Kernel`, and of `Bitwise` without its name", Enum.sort(functions)},
      {"of Mote", of_kernel(@effects) ++ own}
    ] ++
      modules(
        remote ++
          Calls.functions() ++ Loops.functions() ++ Maps.functions() ++ Mote.Prelude.functions() ++ @macros
      )
  end

  defp primitives do
    # Those of `Mote.Total` are for Mote's own functions.
    for %{arity: arity, spellings: spellings} <- Primitives.all(),
        spelling <- spellings,
        not match?({Mote.Total, _}, spelling) do
      case spelling do
        {module, name} -> {module, name, arity}
        name -> {nil, name, arity}
      end
    end
  end

  defp of_kernel(names), do: for({name, arity} <- names, do: {nil, name, arity})

  defp modules(entries) do
    entries
    |> Enum.group_by(fn {module, _, _} -> module end)
    |> Enum.sort_by(fn {module, _} -> inspect(module) end)
    |> Enum.map(fn {module, entries} ->
      {"of `#{inspect(module)}`#{required(module)}", Enum.sort(entries)}
    end)
  end

  defp required(module) do
    case for {^module, name, _} <- @macros, uniq: true, do: "`#{name}`" do
      [] -> ""
      macros -> ", which must be required for #{Enum.join(macros, " and ")}"
    end
  end
end
