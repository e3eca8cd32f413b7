defmodule ExUnitProperties do
  @moduledoc """
  Property-based tests for ExUnit: `use ExUnitProperties` beside `use ExUnit.Case`.

      property "sorting keeps the elements" do
        check all list <- list_of(integer()) do
          assert Enum.sort(list) -- list == []
        end
      end

  A fallback for building without Hex, with the names and results of the real package.
  """

  alias StreamData.Random

  defmodule Error do
    @moduledoc """
    Raised by `check all` when its body raises something else than an assertion error.
    """

    defexception [:message]
  end

  @doc false
  defmacro __using__(_options) do
    quote do
      import StreamData
      import ExUnitProperties
    end
  end

  @doc """
  A property that is not written yet: a test that fails.
  """
  defmacro property(message) do
    define_property(__CALLER__, message, quote(do: _), quote(do: flunk("Not implemented")), [:not_implemented])
  end

  @doc """
  A test of the type `:property`. `context` matches the test's context, as with `test`.
  """
  defmacro property(message, context \\ quote(do: _), [{:do, body}]) do
    define_property(__CALLER__, message, context, body, [])
  end

  defp define_property(caller, message, context, body, tags) do
    ExUnit.plural_rule("property", "properties")

    contents =
      quote do
        unquote(body)
        :ok
      end

    quote bind_quoted: [
            message: message,
            context: Macro.escape(context),
            contents: Macro.escape(contents, unquote: true),
            file: caller.file,
            line: caller.line,
            tags: [:property | tags]
          ] do
      name = ExUnit.Case.register_test(__MODULE__, file, line, :property, message, tags)
      def unquote(name)(unquote(context)), do: unquote(contents)
    end
  end

  @doc """
  A generator out of generators: `gen all x <- integer(), y <- integer(), x < y, do: {x, y}`.

  A clause is `pattern <- generator` (what does not match is generated anew), `pattern = expression`, or an
  expression that must be true.
  """
  defmacro gen({:all, _meta, arguments}) do
    {clauses, _options, body} = split(arguments, [])
    generator(clauses, body, :value)
  end

  defmacro gen({:all, _meta, arguments}, [{:do, _body}] = block) do
    {clauses, _options, body} = split(arguments, block)
    generator(clauses, body, :value)
  end

  @doc """
  Runs the body with generated values and returns `:ok`, or raises the failure for the simplest values found.

  Clauses are those of `gen/1`. Options follow them: `:max_runs`, `:max_run_time`, `:max_shrinking_steps`,
  `:max_generation_size`, `:initial_size`, `:initial_seed`, with defaults from the application environment of
  `:stream_data`, and for the seed from ExUnit.
  """
  defmacro check({:all, _meta, arguments}), do: checked(arguments, [])
  defmacro check({:all, _meta, arguments}, [{:do, _body}] = block), do: checked(arguments, block)

  defp checked(arguments, block) do
    {clauses, options, body} = split(arguments, block)

    quote do
      ExUnitProperties.Runner.run(unquote(generator(clauses, body, :run)), unquote(options))
    end
  end

  @doc """
  One value of `data`, of random size. Needs the random seed of the process, which ExUnit sets.
  """
  @spec pick(StreamData.t(a)) :: a when a: var
  def pick(data) do
    if :rand.export_seed() == :undefined do
      raise "pick/1 needs a random seed in this process: call :rand.seed/2 before"
    end

    size = :rand.uniform(100)
    seed = Random.seed(:rand.uniform(Bitwise.bsl(1, 50)))
    StreamData.__call__(data, seed, size).root
  end

  # Arguments of all(...): clauses, then perhaps a keyword list of options, which may hold the body as well.
  defp split(arguments, block) do
    {clauses, options} =
      case List.pop_at(arguments, -1) do
        {[{key, _value} | _] = options, clauses} when is_atom(key) -> {clauses, options}
        _no_options -> {arguments, []}
      end

    {body, options} = Keyword.pop!(options ++ block, :do)

    unless match?([{:<-, _, _} | _], clauses) do
      raise ArgumentError, "\"all\" must be followed by a clause like: pattern <- generator"
    end

    {clauses, options, body}
  end

  defp generator(clauses, body, kind) do
    quote generated: true do
      unquote(if kind == :run, do: quote(do: generated = []))
      {:cont, data} = unquote(chain(clauses, body, kind))
      data
    end
  end

  defp chain([], body, :value), do: quote(do: {:cont, StreamData.constant(unquote(body))})

  defp chain([], body, :run) do
    quote(do: {:cont, StreamData.constant({generated, fn -> unquote(body) end})})
  end

  defp chain([{:<-, _meta, [pattern, data]} = clause | rest], body, kind) do
    rest = chain(rest, body, kind)

    rest =
      if kind == :run do
        quote generated: true do
          generated = [{unquote(Macro.to_string(clause)), value} | generated]
          unquote(rest)
        end
      else
        rest
      end

    matched = quote(generated: true, do: (unquote(pattern) -> unquote(rest)))
    otherwise = if variable?(pattern), do: [], else: quote(generated: true, do: (_ -> :skip))

    quote generated: true do
      {:cont,
       StreamData.bind_filter(unquote(data), fn value ->
         case value do
           unquote(matched ++ otherwise)
         end
       end)}
    end
  end

  defp chain([{:=, _meta, _sides} = binding | rest], body, kind) do
    quote generated: true do
      unquote(binding)
      unquote(chain(rest, body, kind))
    end
  end

  defp chain([filter | rest], body, kind) do
    quote generated: true do
      if unquote(filter), do: unquote(chain(rest, body, kind)), else: :skip
    end
  end

  defp variable?({name, _meta, context}) when is_atom(name) and is_atom(context), do: true
  defp variable?(_pattern), do: false
end
