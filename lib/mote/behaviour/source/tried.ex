defmodule Mote.Behaviour.Source.Tried do
  # `try` in plain Elixir: what the part that failed has staged is taken back before a handler runs, and `abort(reason)` is not
  # caught.
  @moduledoc false

  alias Mote.Turn.Stage

  @doc "A `try` with these sections; `walk` rewrites what is in them."
  @spec code(keyword, [{atom, Macro.t()}], (Macro.t() -> Macro.t())) :: Macro.t()
  def code(meta, sections, walk) do
    mark = Macro.unique_var(:mark, __MODULE__)
    sections = for {section, code} <- sections, do: {section, section(section, code, mark, walk)}

    quote generated: true do
      unquote(mark) = unquote(Stage).mark()
      unquote({:try, meta, [sections]})
    end
  end

  defp section(:rescue, clauses, mark, walk) do
    aborted = quote(generated: true, do: (aborted in Mote.Abort -> reraise(aborted, __STACKTRACE__)))
    aborted ++ for {:->, meta, [left, right]} <- clauses, do: {:->, meta, [left, undoing(right, mark, walk)]}
  end

  defp section(:catch, clauses, mark, walk) do
    aborted =
      quote generated: true do
        :throw, {unquote(Stage), _} = aborted -> throw(aborted)
        :error, %Mote.Abort{} = aborted -> reraise(aborted, __STACKTRACE__)
      end

    walked =
      for {:->, _, [_, right]} = clause <- clauses do
        {:->, meta, [left, _]} = walk.(clause)
        {:->, meta, [left, undoing(right, mark, walk)]}
      end

    aborted ++ walked
  end

  defp section(_, code, _, walk), do: walk.(code)

  defp undoing(body, mark, walk) do
    quote generated: true do
      unquote(Stage).undo(unquote(mark))
      unquote(walk.(body))
    end
  end
end
