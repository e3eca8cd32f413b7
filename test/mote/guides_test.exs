defmodule Mote.GuidesTest do
  # Every piece of Elixir in these guides is run, in order, in one process, as if pasted into IEx; what is written
  # behind #=> must be what it gives or what it writes, where … stands for anything.
  use ExUnit.Case, async: true

  import ExUnit.CaptureIO

  # Some pieces show what fails.
  @moduletag :capture_log

  for guide <- ["guides/tour.livemd", "guides/language.md", "guides/testing.md", "guides/gatekeepers.md"] do
    test "the pieces of #{guide} give what it says" do
      run(unquote(guide))
    end
  end

  defp run(guide) do
    pieces = pieces(File.read!(guide))
    assert length(pieces) > 3

    Enum.reduce(pieces, {[], Code.env_for_eval([])}, fn {line, code, expected}, {binding, env} ->
      {{value, binding, env}, written} =
        with_io(fn ->
          quoted = Code.string_to_quoted!(code, file: guide, line: line)
          Code.eval_quoted_with_env(quoted, binding, env)
        end)

      check("#{guide}:#{line}", expected, value, written)
      {binding, env}
    end)
  end

  # Line, code and what is written behind #=>.
  defp pieces(text) do
    lines = text |> String.split("\n") |> Enum.with_index(1)

    {pieces, nil} =
      Enum.reduce(lines, {[], nil}, fn
        {"```elixir", n}, {pieces, nil} -> {pieces, {n + 1, []}}
        {"```", _}, {pieces, {n, code}} -> {[piece(n, Enum.reverse(code)) | pieces], nil}
        {line, _}, {pieces, {n, code}} -> {pieces, {n, [line | code]}}
        _, acc -> acc
      end)

    Enum.reverse(pieces)
  end

  defp piece(n, lines) do
    {expected, code} = Enum.split_with(lines, &String.starts_with?(&1, "#=>"))
    {n, Enum.join(code, "\n"), Enum.map_join(expected, "\n", &Regex.replace(~r/^#=> ?/, &1, ""))}
  end

  defp check(_place, "", _value, _written), do: :ok

  defp check(place, expected, value, written) do
    given = if written == "", do: inspect(value), else: String.trim_trailing(written)
    pattern = expected |> Regex.escape() |> String.replace("…", ".*")
    assert given =~ ~r/\A#{pattern}\z/s, "#{place} says #{expected}, but it gives #{given}"
  end
end
