defmodule Mote.Prelude do
  # Elixir's library, written in the language itself: where a function of it is written, and what users call one that is
  # written there. `Mote.Prelude.Table` lists them.
  @moduledoc false

  alias Mote.Prelude.Table

  @entries Map.new(Table.entries())

  @called Table.entries()
          |> Map.new(fn {{module, name, _}, {_, place, own}} -> {{place, own}, {module, name}} end)
          |> Map.merge(%{
            {Mote.Prelude.Inline.Enum, :with_index_by} => {Enum, :with_index},
            {Mote.Prelude.Enum, :sort_descending} => {Enum, :sort},
            {Mote.Prelude.Inline.Enum, :sort_by_descending} => {Enum, :sort_by},
            {Mote.Prelude.List, :keysort_descending} => {List, :keysort},
            {Mote.Prelude.Inspected, :text_by} => {Kernel, :inspect},
            {Mote.Prelude.Access, :held} => {Access, :get_and_update},
            {Mote.Prelude.Access, :put} => {Access, :get_and_update},
            {Mote.Prelude.Access, :popped} => {Access, :pop},
            # What functions in line ask of a source: it fails as these do.
            {Mote.Prelude.Enum, :some} => {Enum, :to_list},
            {Mote.Prelude.Enum, :beside} => {Enum, :zip},
            {Mote.Prelude.Enum, :rows} => {Enum, :zip},
            {Mote.Prelude.Range, :sum} => {Enum, :sum}
          })

  # For functions that only the prelude calls: the module that they are attributed to.
  @places Table.entries()
          |> Enum.reverse()
          |> Map.new(fn {{module, _, _}, {_, place, _}} -> {place, module} end)

  @doc "Returns the users' name of a function that is written in `place`; nil if `place` is not a module of the prelude."
  @spec called(module | nil, atom) :: {module, atom} | nil
  def called(Mote.Directory.Place, :shard), do: {Mote.Directory, :shard}

  def called(place, name) do
    case @places do
      %{^place => module} -> Map.get(@called, {place, name}, {module, name})
      _ -> nil
    end
  end

  @doc "Returns whether a module is part of it. Elixir's own library takes its place in plain Elixir."
  @spec part?(module) :: boolean
  def part?(module), do: module |> Atom.to_string() |> String.starts_with?("Elixir.Mote.Prelude.")

  @doc "Returns whether a module has functions in plain Elixir. This part has guards that Elixir refuses; all releases have its functions."
  @spec plain?(module) :: boolean
  def plain?(module), do: module != Mote.Prelude.Float

  @doc "Returns where `module.name/arity` is written, and by what name; or nil."
  @spec entry(module, atom, arity) :: {:pure | :template, module, atom} | nil
  def entry(module, name, arity), do: Map.get(@entries, {module, name, arity})

  @doc """
  Defines what the table has in the module that calls it, and what stands nowhere above: by the definition of Elixir's own function, of
  the release that compiles.
  """
  defmacro released do
    quote unquote: false do
      for {name, arity, module, called} <- Mote.Prelude.missing(__MODULE__) do
        args = Macro.generate_arguments(arity, Mote.Prelude)

        defpure unquote(name)(unquote_splicing(args)),
          do: unquote(module).unquote(called)(unquote_splicing(args))
      end
    end
  end

  @doc "Returns the functions that the table has in a module, and the module has not defined so far."
  @spec missing(module) :: [{atom, arity, module, atom}]
  def missing(place) do
    written =
      for %{name: name, arity: arity} <- Module.get_attribute(place, :mote_definitions), do: {name, arity}

    for {{module, called, arity}, {:pure, ^place, name}} <- Table.entries(),
        {name, arity} not in written,
        had?(module, called, arity),
        do: {name, arity, module, called}
  end

  # In a release that no test has seen, a definition may have what a machine does not. Everything else is there then.
  @seen? Version.compare(System.version(), "1.21.0-dev") == :lt

  defp had?(module, name, arity) do
    args = Macro.generate_arguments(arity, __MODULE__)
    alone = Module.concat(Mote, "Alone#{System.unique_integer([:positive])}")

    @seen? or
      match?(
        [_ | _],
        Code.compile_quoted(
          quote do
            defmodule unquote(alone) do
              use Mote.Behaviour, import: [unquote(module)]
              Module.put_attribute(__MODULE__, :mote_first, true)
              defpure f(unquote_splicing(args)), do: unquote(module).unquote(name)(unquote_splicing(args))
            end
          end
        )
      )
  rescue
    _ in [CompileError, Mote.CompileError] -> false
  end

  @doc "All of them."
  @spec functions() :: [{module, atom, arity}]
  def functions, do: @entries |> Map.keys() |> Enum.sort()
end
