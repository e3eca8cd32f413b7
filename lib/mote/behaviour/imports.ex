defmodule Mote.Behaviour.Imports do
  # Functions that are written in plain Elixir, compiled to the machine from the debug information of their modules: those that a
  # module with behaviours names, `use Mote.Behaviour, import: [MyApp.Pricing]`, and a part of Elixir's library.
  #
  # 1. Only called functions are compiled, and the functions that they call. They become private functions of the calling
  #    unit, under names that nobody can write. So a unit needs no other unit.
  # 2. A function that cannot be compiled is reported where the module with behaviours calls it, with the function, its
  #    line and the reason.
  # 3. A failure in a function that is named belongs to its own module and line. One of the library is one operation, like those of
  #    `Mote.Prelude`, which come first.
  # 4. The modules of `Mote.Prelude` import the modules whose functions they provide: a function that is not written there
  #    is compiled from its definition once, for all units.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.Imports.{Definitions, Expanded, Message, Sources, Structs}
  alias Mote.Behaviour.Syntax.Elsewhere
  alias Mote.Prelude

  # Elixir's modules of which functions are had that `Mote.Prelude` does not have.
  @library [Calendar, Calendar.ISO, Date, Date.Range, DateTime, NaiveDateTime, Time, URI, Version] ++
             [Inspect.Algebra, Version.Parser, Version.Requirement, String.Chars.URI, String.Chars.Version] ++
             [:array, :calendar, :dict, :gb_sets, :gb_trees, :lists, :maps, :orddict, :ordsets] ++
             [:proplists, :queue, :sets, :string, :uri_string, :inet, :inet_parse, Path, :filename]

  # Of these only `Mote.Prelude.Inspected` has functions, and plain Elixir.
  @inspected [Inspect, Code.Identifier, Macro] ++
               for(
                 type <-
                   [Any, Atom, BitString, Date, DateTime, Float, Integer, List, Map, MapSet, NaiveDateTime] ++
                     [Range, Time, Tuple],
                 do: Module.concat(Inspect, type)
               )

  # Of these the modules of `Mote.Prelude` have functions, for all others.
  @released [Access, Base, Enum, Float, Integer, Kernel, Keyword, List, Map, MapSet, Range] ++
              [Regex, String, Tuple]

  # Of these a module has functions that names something to go through.
  @sources [Stream, Stream.Reducers] ++
             for(
               {protocol, types} <- [
                 {Enumerable, [Date.Range, List, Range, Stream]},
                 {Collectable, [BitString, List, Map]}
               ],
               type <- types,
               do: Module.concat(protocol, type)
             )

  # What the clauses of a module see: no import but Kernel's.
  @kernel Map.take(__ENV__, [:functions, :macros])

  @doc "Checks the modules that are named, and notes them."
  @spec begin(module, [module], Macro.Env.t()) :: :ok
  def begin(module, imported, env) do
    for name <- [:mote_imported, :mote_read, :mote_structs],
        do: Module.register_attribute(module, name, accumulate: true)

    for name <- imported, reason = unfit(name), do: Error.raise_at(env, env.line, "import: #{reason}")

    structs = Enum.filter(imported, &function_exported?(&1, :__struct__, 0))

    [shown, inspected, sources] =
      for protocol <- [String.Chars, Inspect, Enumerable],
          do: for(name <- structs, impl = implementation(protocol, name), do: {name, impl})

    # The machine goes through these by itself.
    sources = Enum.reject(sources, fn {name, _} -> name in [MapSet, Range] end)
    Module.put_attribute(module, :mote_shown, shown)
    Module.put_attribute(module, :mote_sources, sources)
    others = for {_, impl} <- shown ++ inspected ++ sources, do: impl
    Module.put_attribute(module, :mote_imports, imported ++ others)
  end

  defp implementation(protocol, name) do
    impl = Module.concat(protocol, name)
    if match?({:module, _}, Code.ensure_compiled(impl)), do: impl
  end

  @doc "Clauses for the structs of named modules, which make texts of them as their modules say."
  @spec shown(Macro.Env.t()) :: [AST.clause()]
  def shown(%{line: l} = env) do
    shown = if Module.open?(env.module), do: Module.get_attribute(env.module, :mote_shown)

    for {module, impl} <- shown || [] do
      {name, counter} = variable = Syntax.fresh(:struct)
      pattern = {:map, l, [{{:lit, l, :__struct__}, {:lit, l, module}}]}
      text = call(impl, :to_string, [{name, [counter: counter], nil}], env)
      {:clause, l, {:all, l, [{:bind, l, variable}, pattern]}, [], text}
    end
  end

  defp unfit(name) do
    cond do
      not is_atom(name) ->
        "wants modules, [MyApp.Pricing], got: #{inspect(name)}"

      not match?({:module, _}, Code.ensure_compiled(name)) ->
        "there is no module #{inspect(name)}, or it waits for this one"

      function_exported?(name, :__mote__, 1) ->
        "#{inspect(name)} says use Mote.Behaviour: its functions made with defpure can be called without an import"

      true ->
        nil
    end
  end

  @doc """
  What is gone through: what `function` makes of a source that is made while it is read (`:listed` a list, `:begun` its first elements),
  in a module that knows such sources; in others the source itself.
  """
  @spec source(AST.expr(), :listed | :begun, Macro.Env.t()) :: AST.expr()
  def source(source, function, env) do
    if sources(env) == [] or AST.list?(source) do
      source
    else
      noted({Enumerable, function, 1}, env)
      {:call, env.line, {nil, inside(Enumerable, function), 1}, [source]}
    end
  end

  @doc "A call of a function of Enum that takes no more of such a source than it needs; nil where the module knows none."
  @spec enum(atom, [Macro.t()], Macro.Env.t()) :: AST.expr() | nil
  def enum(name, args, env) do
    function = {Enumerable, name, length(args)}

    if {name, length(args)} in Sources.enum() and sources(env) != [] and not made?(env) do
      noted(function, env)
      {:call, env.line, {nil, inside(Enumerable, name), length(args)}, Syntax.exprs(args, env)}
    end
  end

  # In what is made here sources are as they are.
  defp made?(env), do: match?(%{mote_import: %{within: [{Enumerable, _, _} | _]}}, env)

  defp sources(%{module: module}),
    do: if(Module.open?(module), do: Module.get_attribute(module, :mote_sources) || [], else: [])

  @doc "A call of such a function; nil where the module is none of those."
  @spec call(module, atom, [Macro.t()], Macro.Env.t()) :: AST.expr() | nil
  def call(module, name, args, env) do
    if Module.open?(env.module) and had?(module, env) do
      noted({module, name, length(args)}, env)
      {:call, env.line, {nil, inside(module, name), length(args)}, Syntax.exprs(args, env)}
    end
  end

  @doc "The name of the function that shows the structs of the program (`Structs`), which is called."
  @spec structs(Macro.Env.t()) :: atom
  def structs(env) do
    noted({Inspect, :structs, 2}, env)
    inside(Inspect, :structs)
  end

  defp noted(function, env) do
    from = Map.get(env, :mote_import, %{line: env.line, column: Map.get(env, :column), within: []})
    Module.put_attribute(env.module, :mote_imported, {function, from})
  end

  defp had?(module, env) do
    module in @library or module in named(env) or
      (module in [Enumerable, Collectable | @sources] and sources(env) != []) or
      (module in @inspected and (env.module == Mote.Prelude.Inspected or is_map_key(env, :mote_import)))
  end

  defp named(%{module: module}),
    do: if(Module.open?(module), do: Module.get_attribute(module, :mote_imports) || [], else: [])

  @doc """
  Returns whether a function is meant by its own definition, although `Mote.Prelude` has it: in a definition of the prelude that calls the very
  function that it defines, and in a module that has set `:mote_first`, to measure it.
  """
  @spec first?(module, atom, arity, Macro.Env.t()) :: boolean
  def first?(module, name, arity, env) do
    cond do
      module not in named(env) ->
        false

      not Prelude.part?(env.module) ->
        Module.get_attribute(env.module, :mote_first) == true and not is_map_key(env, :mote_import)

      entry = Prelude.entry(module, name, arity) ->
        own?(entry, arity, env)

      true ->
        false
    end
  end

  defp own?({_, place, name}, arity, env), do: {env.module, env.function} == {place, {name, arity}}

  @doc "Returns whether a module is part of Elixir's library, of which a failure is told as one of the function that was called."
  @spec library?(module) :: boolean
  def library?(module),
    do: module in @library or module in @inspected or module in @released or module in @sources

  @doc "Returns whether anybody can call its functions."
  @spec offered?(module) :: boolean
  def offered?(module), do: module in @library or module in @sources

  @doc "The function of the library that a unit has under that name, or nil."
  @spec library(atom) :: {module, atom} | nil
  def library(name) do
    for module <- @library, {function, _} <- module.module_info(:exports), inside(module, function) == name do
      {module, function}
    end
    |> List.first()
  end

  defp inside(module, name), do: :"#{inspect(module)}.#{name}"

  @doc "The definitions of all that is called, and the mistakes in them, each with what it would have defined."
  @spec definitions(Macro.Env.t()) :: {[map], [{Exception.t(), [map]}]}
  def definitions(env), do: env |> called() |> reached(MapSet.new(), {[], []}, env) |> told()

  # What has been called since the last time.
  defp called(env) do
    called = Module.get_attribute(env.module, :mote_imported) || []
    Module.delete_attribute(env.module, :mote_imported)
    Module.register_attribute(env.module, :mote_imported, accumulate: true)
    Enum.reverse(called)
  end

  defp reached([], _, found, _), do: found

  defp reached([{function, from} | rest], seen, {definitions, mistakes} = found, env) do
    if function in seen do
      reached(rest, seen, found, env)
    else
      found =
        case compiled(function, from, env) do
          {:ok, clauses} -> {clauses ++ definitions, mistakes}
          {:error, mistake} -> {definitions, [mistake | mistakes]}
        end

      reached(rest ++ called(env), MapSet.put(seen, function), found, env)
    end
  end

  defp compiled({_, name, arity} = function, from, env) do
    with {:ok, file, meta, clauses} <- found(function, from, env) do
      here = %{env | file: file, line: meta[:line] || 0, function: {name, arity}, aliases: []}

      here =
        here
        |> Map.merge(@kernel)
        |> Map.put(:mote_import, %{from | within: [function | from.within]})

      {:ok, Enum.map(clauses, &definition(&1, function, from, here))}
    else
      {:error, reason} -> {:error, mistake(function, from, reason, env)}
    end
  rescue
    error in [Mote.CompileError, Error.Several] ->
      {:error, mistake(function, from, refused(error, function, env), env)}
  end

  defp found({Inspect, :structs, 2}, from, env),
    do: {:ok, env.file, [line: from.line], Structs.clauses(named(env), %{env | line: from.line})}

  defp found({module, _, _} = function, from, env) do
    if Sources.made?(function) and sources(env) != [],
      do: {:ok, env.file, [line: from.line], Sources.clauses(function, sources(env))},
      else: defined(module, function, from, env)
  end

  defp defined(module, function, from, env) do
    with {:ok, %{file: file, functions: functions}} <- read(module, env),
         {:ok, meta, clauses} <- defined(functions, function, from),
         do: {:ok, file, meta, clauses}
  end

  defp read(module, env) do
    case env.module |> Module.get_attribute(:mote_read) |> List.keyfind(module, 0) do
      {_, read} ->
        read

      nil ->
        read = Definitions.fetch(module)
        Module.put_attribute(env.module, :mote_read, {module, read})
        read
    end
  end

  # A private one only from its own module.
  defp defined(functions, {module, name, arity}, from) do
    inside? = match?([{^module, _, _} | _], from.within)

    case if(:erlang.is_builtin(module, name, arity), do: :builtin, else: functions) do
      :builtin ->
        {:error, "it is written in C"}

      %{{^name, ^arity} => {kind, meta, clauses}} when kind == :def or (inside? and kind == :defp) ->
        {:ok, meta, clauses}

      %{{^name, ^arity} => {:defp, _, _}} ->
        {:error, "it is private there"}

      _ ->
        {:error, {:undefined, for({{other, n}, {:def, _, _}} <- functions, do: "#{other}/#{n}")}}
    end
  end

  defp definition({meta, args, guards, body}, {module, name, arity} = function, from, env) do
    s = %{
      module: module,
      library?: library?(module),
      candidates: &candidates(&1, &2, env),
      fails?: &fails?(module, &1, &2, env)
    }

    env = Error.at(env, meta)
    [args, guards, body] = Expanded.code([args, guards, body], s)

    %{
      kind: :pure,
      beam: false,
      public: false,
      name: inside(module, name),
      arity: arity,
      args: "",
      line: env.line,
      column: nil,
      generated: true,
      by_hand: false,
      columns: %{},
      doc: nil,
      marks: [],
      full: nil,
      origin: {module, name},
      import: {function, from},
      clause: Syntax.clause({:{}, meta, args}, guards, body, env)
    }
  end

  @doc "The end of a turn where Elixir raises what `function` makes of an argument."
  @spec raised({module, atom}, Macro.t(), Macro.Env.t()) :: AST.expr()
  def raised(function, argument, %{line: l, mote_import: %{within: [{module, _, _} | _]}} = env) do
    operands =
      cond do
        # Nobody will see more than that the call in the library has failed, and of which exception; what it throws it may catch itself.
        library?(module) and function != {:erlang, :throw} -> [{:lit, l, []}]
        parts = Message.parts(argument, &private?(&1, &2, &3, module, env)) -> shown_later(parts, env)
        true -> [Syntax.expr(argument, env)]
      end

    {:abort, l, AST.tuple(l, [{:lit, l, :raised}, {:lit, l, {module, l, function}}, AST.tuple(l, operands)])}
  end

  defp private?(module, name, arity, module, env) do
    {:ok, %{functions: functions}} = read(module, env)
    match?(%{{^name, ^arity} => {:defp, _, _}}, functions)
  end

  defp private?(_, _, _, _, _), do: false

  defp shown_later({written, operands}, %{line: l} = env) do
    # A unit of another version has not got it.
    key = :erlang.phash2(written)
    Module.put_attribute(env.module, :mote_messages, {key, written})
    [{:lit, l, {env.module, key}}, AST.tuple(l, Syntax.exprs(operands, env))]
  end

  # Whether a private function does nothing but raise.
  defp fails?(module, name, arity, env) do
    with {:ok, %{functions: %{{^name, ^arity} => {:defp, _, clauses}}}} <- read(module, env) do
      Enum.all?(clauses, fn {_, _, _, body} -> match?({{:., _, [:erlang, :error]}, _, _}, body) end)
    else
      _ -> false
    end
  end

  # The modules that may be meant by one that is calculated.
  defp candidates(name, arity, env) do
    for module <- Enum.uniq([Calendar.ISO, Mote.Prelude.Zone | named(env)]),
        Code.ensure_loaded?(module) and function_exported?(module, name, arity),
        do: module
  end

  # -- mistakes ------------------------------------------------------------------------------------------------

  @doc "Applies `fun` to the definitions of a function, and reports its mistakes where the function is called."
  @spec checked(import :: tuple, Macro.Env.t(), fun) :: term
  def checked({function, from}, env, fun) do
    fun.()
  rescue
    error in [Mote.CompileError, Error.Several] ->
      {_, mistake, _} = mistake(function, from, refused(error, function, env), env)
      reraise mistake, __STACKTRACE__
  end

  # The check pass knows one file only.
  defp refused(%Error.Several{mistakes: [first | _]}, function, env), do: refused(first, function, env)

  defp refused(error, {module, _, _}, env) do
    {:ok, %{file: file}} = read(module, env)
    "#{file}:#{error.line}: #{error.description}"
  end

  # One for each call that the module has: what else is wrong with the same one is told when that has been changed.
  defp mistake({module, name, arity} = function, from, reason, env) do
    called = List.last(from.within, function)
    inside = if called == function, do: "", else: "in #{spelled(function)}, "

    text =
      case reason do
        {:undefined, known} ->
          "undefined function #{spelled(function)}#{Error.suggestion("#{name}/#{arity}", known)}"

        _ ->
          "#{spelled(called)} #{missing(called, "#{inside}#{reason}")}"
      end

    error = %Mote.CompileError{file: env.file, line: from.line, column: from.column, description: text}
    {{called, from.line}, error, %{kind: :pure, name: inside(module, name), arity: arity}}
  end

  defp missing({module, name, arity}, reason) do
    cond do
      not library?(module) -> "cannot be compiled for a machine: #{reason}"
      hint = Elsewhere.reason(module, name, arity) -> "is not available in a behaviour: #{hint}"
      true -> "is not available in a behaviour, as its definition cannot be compiled for a machine: #{reason}"
    end
  end

  defp spelled({Inspect, :structs, 2}), do: "inspect"
  defp spelled({module, name, arity}), do: "#{inspect(module)}.#{name}/#{arity}"

  # Those that `Mote.Behaviour.Compiler` knows.
  defp told({definitions, mistakes}) do
    first =
      mistakes
      |> Enum.reverse()
      |> Enum.uniq_by(&elem(&1, 0))
      |> Map.new(fn {call, error, _} -> {call, error} end)

    {definitions, for({call, _, name} <- mistakes, do: {first[call], [name]})}
  end
end
