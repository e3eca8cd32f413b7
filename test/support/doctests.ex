defmodule Mote.Doctests do
  @moduledoc """
  The examples in the documentation of the Elixir that runs, as functions of behaviours: calls that nobody here has chosen.

  They are read when a test runs, so they are those of that release.
  """

  alias Mote.Doctests.Example

  defmodule Example do
    @moduledoc """
    An expression of a documentation, with the matches before it. Its `variables` stand for literals, which are the `values`: so
    nothing can be calculated when it is compiled.
    """
    defstruct [:quoted, variables: [], values: []]
  end

  @doc "All of a module; none where it has no documentation."
  def examples(module) do
    with {:docs_v1, _, _, "text/markdown", moduledoc, _, docs} <- Code.fetch_docs(module) do
      for doc <- [moduledoc | Enum.map(docs, &elem(&1, 3))],
          is_map(doc),
          test <- tests(doc["en"]),
          quoted <- steps(test, []),
          uniq: true,
          do: %Example{quoted: quoted}
    else
      _ -> []
    end
  end

  @doc "A call of a function with variables. Where it has some, the first one is a function with so many `parameters` instead."
  def calling({module, name, arity}, parameters) do
    [_ | others] = variables = for i <- 1..arity, do: {:"literal#{i}", [], nil}

    {arguments, variables} =
      if parameters == 0, do: {variables, variables}, else: {[function(parameters) | others], others}

    quoted = {{:., [], [module, name]}, [], arguments}
    %Example{quoted: quoted, variables: variables, values: variables}
  end

  defp function(1), do: quote(do: fn x -> x end)
  defp function(2), do: quote(do: fn x, _ -> x end)
  defp function(3), do: quote(do: fn x, _, z -> {x, z} end)

  # What stands together, as lists of expressions. A blank line ends a test, other text is an answer.
  defp tests(text) do
    text
    |> String.split("\n")
    |> Enum.map(&Regex.run(~r/^\s*(iex|\.\.\.)(?:\(\d+\))?>(.*)|^\s*(\S?)/u, &1))
    |> Enum.chunk_while({[], :text}, &line/2, fn {test, _} -> {:cont, test, nil} end)
    |> Enum.map(&Enum.reverse/1)
    |> Enum.reject(&(&1 == []))
  end

  defp line([_, "iex", expression], {test, _}), do: {:cont, {[expression | test], :expression}}

  defp line([_, "...", more], {[first | test], :expression}),
    do: {:cont, {["#{first}\n#{more}" | test], :expression}}

  defp line([_, _, _, ""], {test, _}), do: {:cont, test, {[], :text}}
  defp line(_, {test, _}), do: {:cont, {test, :text}}

  # Each expression, after the matches before it.
  defp steps([], _), do: []

  defp steps([source | rest], before) do
    case Code.string_to_quoted(source) do
      {:ok, {:=, _, _} = match} -> [block(before, match) | steps(rest, before ++ [match])]
      {:ok, quoted} -> [block(before, quoted) | steps(rest, before)]
      {:error, _} -> steps(rest, before)
    end
  end

  defp block([], quoted), do: quoted
  defp block(before, quoted), do: {:__block__, [], before ++ [quoted]}

  # -- literals as variables -----------------------------------------------------------------------------------

  @doc "The example with all literals among the arguments of its calls as variables, or only with those of first arguments."
  def lifted(%Example{} = example, which) do
    {quoted, literals} = lift(example.quoted, [], which)
    values = for literal <- Enum.reverse(literals), do: literal |> Code.eval_quoted() |> elem(0)
    variables = for {_, i} <- Enum.with_index(values), do: {:"literal#{i}", [], nil}
    %{example | quoted: quoted, variables: variables, values: values}
  end

  # Calls of functions; macros, patterns and functions are left as they are.
  defp lift({:|>, meta, [left, right]}, found, which) do
    {left, found} = argument(left, found, which)
    {right, found} = if which == :all, do: lift(right, found, which), else: {right, found}
    {{:|>, meta, [left, right]}, found}
  end

  defp lift({:=, meta, [pattern, right]}, found, which) do
    {right, found} = lift(right, found, which)
    {{:=, meta, [pattern, right]}, found}
  end

  defp lift({:__block__, meta, expressions}, found, which) do
    {expressions, found} = Enum.map_reduce(expressions, found, &lift(&1, &2, which))
    {{:__block__, meta, expressions}, found}
  end

  defp lift({{:., _, [{:__aliases__, _, _}, _]} = callee, meta, arguments}, found, which),
    do: call(callee, meta, arguments, found, which)

  defp lift({name, meta, arguments} = call, found, which) when is_atom(name) and is_list(arguments) do
    if function_exported?(Kernel, name, length(arguments)) or
         function_exported?(Bitwise, name, length(arguments)),
       do: call(name, meta, arguments, found, which),
       else: {call, found}
  end

  defp lift(other, found, _), do: {other, found}

  defp call(callee, meta, [first | others], found, :first) do
    {first, found} = argument(first, found, :first)
    {{callee, meta, [first | others]}, found}
  end

  defp call(callee, meta, arguments, found, which) do
    {arguments, found} = Enum.map_reduce(arguments, found, &argument(&1, &2, which))
    {{callee, meta, arguments}, found}
  end

  defp argument(argument, found, which) do
    if literal?(argument),
      do: {{:"literal#{length(found)}", [], nil}, [argument | found]},
      else: lift(argument, found, which)
  end

  # Written as texts: releases format the atoms in different ways.
  @ranges Enum.map(["..", "..//"], &String.to_atom/1)

  defp literal?({dots, _, parts}) when dots in @ranges,
    do: parts != [] and Enum.all?(parts, &Macro.quoted_literal?/1)

  defp literal?({:<<>>, _, parts}), do: Enum.all?(parts, &Macro.quoted_literal?/1)
  defp literal?({:__aliases__, _, _}), do: false
  defp literal?(other), do: Macro.quoted_literal?(other)

  # What examples take to be there.
  @seen (quote do
           import Bitwise, warn: false
           require Integer
           require Record
         end)

  @doc "A function of Elixir with the example's variables as parameters, which is what its documentation is about."
  def elixir(%Example{variables: variables, quoted: quoted}) do
    function = quote(do: fn unquote_splicing(variables) -> unquote(quoted) end)

    {function, _} = Code.eval_quoted(at({:__block__, [], [@seen, function]}, 1))
    function
  end

  # -- as functions --------------------------------------------------------------------------------------------

  @together 60
  @refusals [Mote.CompileError, CompileError, ArgumentError]

  @doc """
  Compiles examples, many in a module; gives `{module, [{index, example}]}`, with those that the language has: each is the
  function `:e` and its index, and what `server()` answers to the index with a tuple of the values.
  """
  def compile(examples) do
    {units, refused} = judged(examples)
    for {_, {error, text}} <- refused, error not in @refusals, do: raise("the compiler failed: #{text}")
    units
  end

  @doc """
  As `compile/1`, with those that are refused as well: each with the module of the exception and its text. `head` makes the first
  code of the module that an example is in.
  """
  def judged(examples, head \\ &head/1) do
    examples
    |> Enum.with_index()
    |> Enum.map(fn {example, i} -> {i, example} end)
    |> Enum.group_by(fn {_, example} -> head.(example) end)
    |> Enum.flat_map(fn {head, examples} ->
      examples |> Enum.chunk_every(@together) |> Enum.map(&{&1, head})
    end)
    |> Task.async_stream(fn {examples, head} -> compiled(examples, head) end, timeout: :infinity)
    |> Enum.reduce({[], []}, fn {:ok, judged}, all -> joined(all, judged) end)
  end

  defp joined({units, refused}, {more, others}), do: {units ++ more, refused ++ others}

  # What is made while it is read, or shown as its module says, is named.
  @named [
    {Stream, ~r/Stream|Date\.range/},
    {Date.Range, ~r/Stream|Date\.range/},
    {Date, ~r/\bDate\.|~D/},
    {Time, ~r/\bTime\.|~T/},
    {NaiveDateTime, ~r/NaiveDateTime|~N/},
    {DateTime, ~r/\bDateTime|~U/},
    {URI, ~r/URI/},
    {Version, ~r/Version/}
  ]

  defp head(%Example{quoted: quoted}) do
    text = Macro.to_string(quoted)
    imports = for {module, written} <- @named, text =~ written, do: module
    quote(do: use(Mote.Behaviour, import: unquote(imports)))
  end

  defp compiled([], _), do: {[], []}

  defp compiled(examples, head) do
    module = Module.concat(Mote.Compiled, "Doctests#{System.unique_integer([:positive])}")
    Code.compile_quoted(source(module, head, examples), "doctests")
    {[{module, examples}], []}
  rescue
    error -> without(examples, head, error)
  end

  # Without those that the error names. Where it does not say where it is, each half by itself.
  defp without(examples, head, %kind{} = error) do
    text = Exception.message(error)

    told =
      for [_, i, why] <- Regex.scan(~r/doctests:(\d+)(?::\d+)?: (.*)/, text),
          into: %{},
          do: {String.to_integer(i) - 1, why}

    # What is said of a function that the language has not is said of each call of it.
    lacking =
      for {_, why} <- told,
          [_, name] <- [Regex.run(~r/^(\S+) is not available/, why)],
          into: %{},
          do: {name, why}

    why = fn {i, example} -> told[i] || Enum.find_value(called(example.quoted, lacking), &lacking[&1]) end
    {refused, rest} = Enum.split_with(examples, why)

    cond do
      refused != [] ->
        joined(
          {[], for({_, example} = one <- refused, do: {example, {kind, why.(one)}})},
          compiled(rest, head)
        )

      match?([_], examples) ->
        {[], for({_, example} <- examples, do: {example, {kind, text}})}

      true ->
        {first, second} = Enum.split(examples, div(length(examples), 2))
        joined(compiled(first, head), compiled(second, head))
    end
  end

  # The functions of modules that an example calls; nobody has to know if none is looked for.
  defp called(_quoted, none) when none == %{}, do: []

  defp called(quoted, _some) do
    for {{:., _, [module, name]}, _, arguments} <- Macro.prewalker(quoted),
        do: "#{Macro.to_string(module)}.#{name}/#{length(arguments)}"
  end

  defp source(module, head, examples) do
    functions =
      for {i, %{variables: variables, quoted: quoted}} <- examples,
          do: at(quote(do: defpure(unquote({:"e#{i}", [], variables}), do: unquote(quoted))), i + 1)

    clauses =
      for {i, %{variables: variables}} <- examples do
        pattern = quote(do: {customer, {unquote(i), {unquote_splicing(variables)}}})
        answer = quote(do: send(customer, unquote({:"e#{i}", [], variables})))
        {:->, [], [[pattern], answer]}
      end

    quote do
      defmodule unquote(module) do
        unquote(head)
        unquote(@seen)
        unquote_splicing(functions)
        defactor(server(), do: unquote(clauses))
      end
    end
  end

  # Generated code, of which nothing is told that is odd; its line says which one it is.
  defp at(quoted, line) do
    Macro.prewalk(quoted, fn
      {name, meta, arguments} -> {name, Keyword.merge(meta, line: line, generated: true), arguments}
      other -> other
    end)
  end
end
