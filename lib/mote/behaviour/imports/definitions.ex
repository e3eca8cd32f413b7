defmodule Mote.Behaviour.Imports.Definitions do
  # The functions of a module that is compiled, as the compiler of Elixir or Erlang has left them in its debug information.
  #
  # 1. What is read is the version of the module that is loaded.
  # 2. A module that is compiled in the same run of Mix has no file yet. Its source is read again, up to the end of its body, where
  #    the same definitions are: it is not compiled a second time, and nothing is loaded.
  @moduledoc false

  alias Mote.Behaviour.Imports.Erlang

  @typedoc "Kind and clauses of each function; a clause is `{meta, patterns, guards, body}`."
  @type t :: %{
          file: String.t(),
          functions: %{{atom, arity} => {kind :: atom, meta :: keyword, clauses :: [tuple]}}
        }

  @doc "Returns them, or what there is to do to have them."
  @spec fetch(module) :: {:ok, t} | {:error, String.t()}
  def fetch(module) do
    case object_code(module) do
      {:ok, binary} -> of_binary(module, binary)
      :error -> of_source(module)
    end
  end

  # Not of a version that has been replaced in memory.
  defp object_code(module) do
    with {_, binary, _} <- :code.get_object_code(module),
         {:ok, {^module, md5}} <- :beam_lib.md5(binary),
         true <- md5 == module.module_info(:md5) do
      {:ok, binary}
    else
      _ -> :error
    end
  end

  defp of_binary(module, binary) do
    case :beam_lib.chunks(binary, [:debug_info]) do
      {:ok, {_, [debug_info: {:debug_info_v1, _, {:elixir_v1, map, _}}]}} ->
        functions =
          for {function, kind, meta, clauses} <- map.definitions, do: {function, {kind, meta, clauses}}

        {:ok, %{file: Path.relative_to_cwd(map.file), functions: Map.new(functions)}}

      {:ok, {_, [debug_info: {:debug_info_v1, :erl_abstract_code, {[_ | _] = forms, _}}]}} ->
        {:ok, %{file: Erlang.file(forms), functions: Erlang.functions(module, forms)}}

      _ ->
        {:error, stripped(module)}
    end
  end

  defp stripped(module) do
    "#{inspect(module)} has been compiled without debug information, of which its functions are compiled for machines: compile it " <>
      "with debug_info: true (elixirc_options in mix.exs; strip_beams of a release comes later and does not matter), or take a " <>
      "package of Elixir or Erlang that has it if the module is one of theirs"
  end

  # -- of the source -------------------------------------------------------------------------------------------

  defp of_source(module) do
    with source when is_list(source) <- module.module_info(:compile)[:source],
         {:ok, text} <- File.read(source),
         file = Path.relative_to_cwd(List.to_string(source)),
         {:ok, code} <- Code.string_to_quoted(text, file: file),
         {around, [do: body]} <- find(code, nil, module, []) do
      :global.trans({__MODULE__, self()}, fn -> again(module, around, body, file) end, [node()])
    else
      _ ->
        {:error,
         "#{inspect(module)} has no file with debug information yet, and is not defined at the top of its source, or in the body " <>
           "of another module there: #{instead(module)}"}
    end
  end

  defp instead(module) do
    if function_exported?(module, :__impl__, 1),
      do: "write a defimpl in place of @derive",
      else: "put it into a file of its own"
  end

  # The body of the module, and what stands around it.
  defp find({:__block__, _, expressions}, outer, module, around),
    do: find_in(expressions, outer, module, around)

  defp find(expression, outer, module, around), do: find_in([expression], outer, module, around)

  defp find_in([], _, _, _), do: nil

  defp find_in(
         [{:defmodule, _, [{:__aliases__, _, [part | _] = parts}, [do: body]]} | rest],
         outer,
         module,
         around
       )
       when is_atom(part) do
    name = Module.concat(List.wrap(outer) ++ parts)
    named = if outer, do: [alias_of(name) | around], else: around

    if name == module,
      do: {Enum.reverse(around), [do: body]},
      else: find(body, name, module, around) || find_in(rest, outer, module, named)
  end

  defp find_in([{:defimpl, _, [{:__aliases__, _, _} = protocol | options]} | rest], outer, module, around) do
    options = Enum.concat(options)
    target = Keyword.get(options, :for, outer)
    # By how it is called, as it may have an alias.
    written = target |> Macro.to_string() |> String.split(".") |> List.last()

    if String.starts_with?(inspect(module), Macro.to_string(protocol) <> ".") and
         String.ends_with?(inspect(module), "." <> written) do
      names = [quote(do: @protocol(unquote(protocol))), quote(do: @for(unquote(target)))]
      {Enum.reverse(around), [do: {:__block__, [], names ++ [options[:do]]}]}
    else
      find_in(rest, outer, module, around)
    end
  end

  defp find_in([{word, _, _} = expression | rest], outer, module, around)
       when word in [:alias, :import, :require],
       do: find_in(rest, outer, module, [expression | around])

  defp find_in([_ | rest], outer, module, around), do: find_in(rest, outer, module, around)

  defp alias_of(module), do: quote(do: alias(unquote(module), warn: false))

  # In a process of its own: the one that compiles would tell Mix of the module.
  defp again(module, around, body, file) do
    code =
      quote do
        (unquote_splicing(around))

        defmodule unquote(module) do
          unquote(once(body, module))
          # The last of them: what the others define is among the functions.
          Module.put_attribute(__MODULE__, :before_compile, {unquote(__MODULE__), :taken})
        end
      end

    conflicts = Code.get_compiler_option(:ignore_module_conflict)
    Code.put_compiler_option(:ignore_module_conflict, true)
    {pid, monitor} = spawn_monitor(fn -> exit({:read, quietly(fn -> read(code, file) end)}) end)
    read = receive(do: ({:DOWN, ^monitor, _, ^pid, reason} -> reason))
    Code.put_compiler_option(:ignore_module_conflict, conflicts)

    case read do
      {:read, {:ok, functions}} ->
        {:ok, %{file: file, functions: functions}}

      reason ->
        {:error, "the source of #{inspect(module)}, #{file}, cannot be read again: #{inspect(reason)}"}
    end
  end

  defp read(code, file) do
    Code.eval_quoted(code, [], file: file)
    :nothing
  catch
    _, reason -> {:error, reason}
  end

  defp quietly(fun) do
    if function_exported?(Code, :with_diagnostics, 1),
      do: Code |> apply(:with_diagnostics, [fun]) |> elem(0),
      else: fun.()
  end

  # What is defined inside of it is there already.
  defp once({:__block__, meta, expressions}, module),
    do: {:__block__, meta, Enum.map(expressions, &once(&1, module))}

  defp once({:defmodule, _, [{:__aliases__, _, [part | _] = parts}, _]}, module) when is_atom(part),
    do: alias_of(Module.concat([module | parts]))

  defp once({word, _, _}, _) when word in [:defmodule, :defimpl, :defprotocol], do: nil
  defp once(expression, _), do: expression

  # By a signal, which nobody catches: from 1.20 on Elixir unloads a module whose body fails, and the one that is there has its name.
  @doc "Ends the reading of a module at the end of its body."
  @spec taken(Macro.Env.t()) :: true
  def taken(%{module: module}) do
    functions =
      for function <- Module.definitions_in(module),
          {:v1, kind, meta, clauses} <- [Module.get_definition(module, function)],
          do: {function, {kind, meta, clauses}}

    Process.exit(self(), {:read, {:ok, Map.new(functions)}})
  end
end
