defmodule Mote.Doctests.Assertions do
  @moduledoc """
  What the assertions of a file of tests are about, as examples: of a comparison the side that is calculated, of `assert_raise` what
  should raise, else all of it. The matches of the test that stand before it go with it.
  """

  alias Mote.Doctests.Example

  @doc "The examples of a file."
  def examples(path) do
    {_, tests} = path |> File.read!() |> Code.string_to_quoted!() |> Macro.prewalk([], &test/2)

    for test <- Enum.reverse(tests), quoted <- steps(test, []), uniq: true, do: %Example{quoted: quoted}
  end

  defp test({:test, _, [_ | _] = arguments} = node, tests) do
    case List.last(arguments) do
      [do: {:__block__, _, body}] -> {node, [body | tests]}
      [do: body] -> {node, [[body] | tests]}
      _ -> {node, tests}
    end
  end

  defp test(node, tests), do: {node, tests}

  defp steps([], _), do: []
  defp steps([{:=, _, _} = match | rest], before), do: steps(rest, before ++ [match])

  defp steps([{form, _, [{:=, _, _} = match]} | rest], before) when form in [:assert, :refute],
    do: [block(before, match) | steps(rest, before ++ [match])]

  defp steps([{form, _, [asserted | _]} | rest], before) when form in [:assert, :refute, :assert_in_delta],
    do: [block(before, subject(asserted)) | steps(rest, before)]

  defp steps([{:assert_raise, _, arguments} | rest], before) do
    case List.last(arguments) do
      {:fn, _, [{:->, _, [[], body]}]} -> [block(before, body) | steps(rest, before)]
      _ -> steps(rest, before)
    end
  end

  defp steps([_ | rest], before), do: steps(rest, before)

  defp subject({comparison, _, [left, right]}) when comparison in [:==, :===],
    do: if(Macro.quoted_literal?(left), do: right, else: left)

  defp subject(other), do: other

  defp block([], quoted), do: quoted
  defp block(before, {:__block__, _, body}), do: {:__block__, [], before ++ body}
  defp block(before, quoted), do: {:__block__, [], before ++ [quoted]}
end
