try do
  defmodule Mote.Prelude.Inspected do
    # `inspect/1` and `inspect/2`: what Elixir's own `Inspect.Algebra` and `Inspect` make of a term, compiled from the release that
    # compiles (`Mote.Behaviour.Imports`). Here is what decides by the type of a term in place of the protocol, and what takes the
    # place of a few functions that ask the node for something.
    #
    # 1. A text is Elixir's, to the byte, or the turn is aborted: for functions, addresses and timers, for structs that neither this module
    #    nor the caller knows, and for atoms with letters of which only tables of Unicode know what they are.
    # 2. A struct has the fields that it was defined with, and no others.
    @moduledoc false
    use Mote.Behaviour

    # From 1.19 on the limit is one of all that is shown, and goes from part to part.
    @limit_goes_on Code.ensure_loaded?(Inspect.Algebra) and
                     function_exported?(Inspect.Algebra, :to_doc_with_opts, 2)

    @defaults Inspect.Opts |> struct() |> Map.delete(:inspect_fun)

    # Letters beyond ASCII of which names consist: Latin ones.
    @letters for c <- 0x80..0x17F,
                 kind <- [
                   case {String.Tokenizer.tokenize([c]), String.Tokenizer.tokenize([?a, c])} do
                     {{kind, _, [], _, _, []}, _} -> kind
                     {_, {_, _, [], _, _, []}} -> :inside
                     {_, {:error, _}} -> :outside
                     _ -> nil
                   end
                 ],
                 kind != nil,
                 into: %{},
                 do: {c, kind}

    defpure text(term), do: text(term, [])

    defpure text(term, options) when is_list(options), do: written(term, options(options, @defaults))

    # `structs` makes documents of the structs of a program, which the caller knows.
    defpure text_by(term, options, structs) when is_list(options),
      do: written(term, Map.put(options(options, @defaults), :inspect_fun, structs))

    defpurep written(term, opts) do
      width = if opts.pretty, do: opts.width, else: :infinity
      IO.iodata_to_binary(Inspect.Algebra.format(Inspect.Algebra.group(to_doc(term, opts)), width))
    end

    # As `struct/2` does.
    defpurep options([], opts), do: opts

    defpurep options([{key, value} | rest], opts) when is_map_key(opts, key) and key != :__struct__,
      do: options(rest, Map.put(opts, key, value))

    defpurep options([{key, _} | rest], opts) when key not in [:inspect_fun], do: options(rest, opts)

    # -- by type -------------------------------------------------------------------------------------------------

    if @limit_goes_on do
      defpure to_doc(term, opts), do: elem(to_doc_with_opts(term, opts), 0)

      defpure to_doc_with_opts(term, opts) do
        case doc(term, opts) do
          {_, %{__struct__: Inspect.Opts}} = both -> both
          doc -> {doc, opts}
        end
      end

      defpurep as_map(struct, opts), do: Inspect.Map.inspect_as_map(struct, opts)

      defpurep by_fields(struct, opts, name, infos),
        do: Inspect.Map.inspect_as_struct(struct, name, infos, opts)
    else
      defpure to_doc(term, opts), do: doc(term, opts)
      defpurep as_map(struct, opts), do: Inspect.Map.inspect(struct, opts)
      defpurep by_fields(struct, opts, name, infos), do: Inspect.Map.inspect(struct, name, infos, opts)
    end

    defpure doc(term, opts) when is_atom(term), do: Inspect.Atom.inspect(term, opts)
    defpure doc(term, opts) when is_bitstring(term), do: Inspect.BitString.inspect(term, opts)
    defpure doc(term, opts) when is_integer(term), do: Inspect.Integer.inspect(term, opts)
    defpure doc(term, opts) when is_list(term), do: Inspect.List.inspect(term, opts)
    defpure doc(term, opts) when is_tuple(term), do: Inspect.Tuple.inspect(term, opts)
    defpure doc(term, opts) when is_float(term), do: Inspect.Float.inspect(term, opts)
    defpure doc(%{__struct__: module} = term, opts) when is_atom(module), do: of_struct(term, opts)
    defpure doc(term, opts) when is_map(term), do: Inspect.Map.inspect(term, opts)
    defpure doc(term, _opts), do: Mote.Total.carried_text(term)

    defpurep of_struct(struct, %{structs: false} = opts), do: as_map(struct, opts)
    defpurep of_struct(%Range{} = range, opts), do: Inspect.Range.inspect(range, opts)
    defpurep of_struct(%MapSet{} = set, opts), do: Inspect.MapSet.inspect(set, opts)
    defpurep of_struct(%Date{} = date, opts), do: Inspect.Date.inspect(date, opts)
    defpurep of_struct(%Time{} = time, opts), do: Inspect.Time.inspect(time, opts)
    defpurep of_struct(%NaiveDateTime{} = time, opts), do: Inspect.NaiveDateTime.inspect(time, opts)
    defpurep of_struct(%DateTime{} = time, opts), do: Inspect.DateTime.inspect(time, opts)

    defpurep of_struct(struct, %{inspect_fun: structs} = opts) do
      case structs.(struct, opts) do
        doc when doc != :unknown -> doc
      end
    end

    # A struct without an implementation of its own.
    defpure fields(struct, opts, name, infos) do
      keys = if is_map_key(struct, :__exception__), do: 2, else: 1

      if map_size(struct) == keys + length(infos) and Enum.all?(infos, &is_map_key(struct, &1.field)),
        do: by_fields(struct, opts, name, infos),
        else: as_map(struct, opts)
    end

    # -- in place of -----------------------------------------------------------------------------------------------

    # Colours are sequences for a terminal, which the node decides about.
    defpure plain(doc, _key, %{syntax_colors: []}), do: doc
    defpure sequence([], true), do: []

    # Elixir's tokenizer, of one name.
    defpure tokenize([c | rest]) when c in ?A..?Z, do: named(rest, :alias, [])
    defpure tokenize([c | rest]) when c in ?a..?z or c == ?_, do: named(rest, :identifier, [])
    defpure tokenize([c | _]) when c < 128, do: {:error, :empty}
    defpure tokenize([]), do: {:error, :empty}

    defpure tokenize([c | rest]) do
      case @letters do
        %{^c => kind} when kind in [:inside, :outside] -> {:error, :empty}
        %{^c => kind} -> named(rest, kind, [])
        _ -> unknown(rest)
      end
    end

    defpurep named([], kind, special), do: {kind, [], [], 0, true, special}
    defpurep named([c | rest], kind, special) when c in [?!, ??], do: {kind, [], rest, 0, true, special}

    defpurep named([c | rest], kind, special)
             when c in ?a..?z or c in ?A..?Z or c in ?0..?9 or c == ?_,
             do: named(rest, kind, special)

    defpurep named([?@ | rest], kind, _special), do: named(rest, kind, [:at])
    defpurep named([c | _] = rest, kind, special) when c < 128, do: {kind, [], rest, 0, true, special}

    defpurep named([c | rest], kind, special) do
      case @letters do
        %{^c => :outside} -> {:error, :empty}
        %{^c => _} -> named(rest, kind, special)
        _ -> unknown(rest)
      end
    end

    # A name with a character of ASCII that no name has is none, whatever the others are.
    defpurep unknown([c | rest])
             when c in ?a..?z or c in ?A..?Z or c in ?0..?9 or c in [?_, ?@] or c > 127,
             do: unknown(rest)

    defpurep unknown([c | [_ | _]]) when c in [?!, ??], do: {:error, :empty}
    defpurep unknown([c | _]) when c < 128 and c not in [?!, ??], do: {:error, :empty}
  end
rescue
  # A release that no test has seen: everything else is there.
  error ->
    defmodule Mote.Prelude.Inspected do
      @moduledoc false
      use Mote.Behaviour

      Module.register_attribute(__MODULE__, :mote_missing, persist: true)
      @mote_missing "Elixir's own definition cannot be compiled for a machine: #{Exception.message(error)}"
    end
end
