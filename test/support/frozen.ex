defmodule Mote.Frozen do
  @moduledoc """
  The units of all behaviour modules in the repository, as lines of `test/fixtures/units.txt`: the module, a digest of its
  source file, and one of its unit.

  `MOTE_FREEZE=1 mix test test/mote/behaviour/frozen_test.exs` writes the file again, after the language was changed on
  purpose.
  """

  @file_name Path.expand("../fixtures/units.txt", __DIR__)
  @root Path.expand("../..", __DIR__)

  # What a module of `bench/` is made of that becomes a unit; that project is not compiled with the tests.
  @kept [:defactor, :defdirectory, :defpure, :defpurep, :defeffect, :defmacro, :defmacrop] ++
          [:use, :alias, :import, :require, :defstruct, :@]
  @annotations [:behaviour, :impl, :moduledoc, :doc, :spec, :type, :typep, :typedoc, :enforce_keys]

  @doc "Writes the file."
  def write, do: File.write!(@file_name, Enum.map_join(units(), &"#{Enum.join(&1, " ")}\n"))

  @doc "The units as they were written down, `%{module => {source, unit}}`."
  def written do
    for line <- @file_name |> File.stream!() |> Enum.map(&String.split/1), into: %{} do
      [module, source, unit] = line
      {module, {source, unit}}
    end
  end

  @doc "The units as they are, each with its module and the digest of its source, sorted."
  def units, do: Enum.sort(compiled() ++ bench())

  defp compiled do
    {:ok, modules} = :application.get_key(:mote, :modules)

    for module <- modules, unit?(module), do: row(module, to_string(module.module_info(:compile)[:source]))
  end

  # A test has modules that only pretend.
  defp unit?(module) do
    Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1) and
      is_binary(module.__mote__(:unit))
  catch
    _, _ -> false
  end

  defp bench do
    files = Path.wildcard("#{@root}/bench/lib/mote/bench/programs/**/*.ex")

    modules =
      for file <- files,
          module <- file |> modules() |> Enum.map(&compiled(&1, file)),
          module,
          do: {module, file}

    rows = for {module, file} <- modules, do: row(module, file)
    for {module, _} <- modules, do: Mote.Compile.purge(module)
    rows
  end

  defp row(module, file), do: [inspect(module), digest(File.read!(file)), digest(module.__mote__(:unit))]

  defp digest(bytes),
    do: :sha256 |> :crypto.hash(bytes) |> binary_part(0, 9) |> Base.url_encode64()

  # The modules with behaviours in a file, inner ones too, each after those that it may name.
  defp modules(file) do
    {_, found} =
      file
      |> File.read!()
      |> Code.string_to_quoted!(file: file)
      |> Macro.prewalk([], fn
        {:defmodule, _, [{:__aliases__, _, name}, [do: body]]} = node, found ->
          {node, if(behaviours?(body), do: [{name, expressions(body)} | found], else: found)}

        node, found ->
          {node, found}
      end)

    found
  end

  defp behaviours?(body),
    do: Enum.any?(expressions(body), &match?({:use, _, [{:__aliases__, _, [:Mote, :Behaviour]} | _]}, &1))

  defp expressions({:__block__, _, expressions}), do: expressions
  defp expressions(expression), do: [expression]

  # Nil where it needs a module of that project.
  defp compiled({name, expressions}, file) do
    body = for {word, _, _} = e <- expressions, word in @kept, kept?(e), do: e
    # Inner modules of several files have the same name.
    name = Module.concat([Frozen, file |> Path.basename(".ex") |> Macro.camelize() | name])
    code = {:defmodule, [], [name, [do: {:__block__, [], body}]]}
    code |> Macro.prewalk(&generated/1) |> Code.compile_quoted(file)
    name
  rescue
    _ in [CompileError, Mote.CompileError, UndefinedFunctionError] -> nil
  end

  defp kept?({:@, _, [{name, _, _}]}), do: name not in @annotations
  defp kept?({:use, _, [{:__aliases__, _, name} | _]}), do: name == [:Mote, :Behaviour]
  defp kept?(_), do: true

  # So that nothing is told of what the filter has left unused.
  defp generated({name, meta, rest}), do: {name, [generated: true] ++ meta, rest}
  defp generated(other), do: other
end
