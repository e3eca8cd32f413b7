defmodule Mote.Guide do
  @moduledoc """
  Runs the Elixir of a guide, piece by piece, as if pasted into IEx, and checks what is written behind `#=>`.

  A piece is a block of Elixir. What stands behind its `#=>` must be what it writes, or what it returns if it writes nothing;
  `…` stands for anything. A block whose first line is a comment with the name of a file is no piece but that file. The setup cell
  of a notebook (`Mix.install`) is none either: what it asks for is there.
  """

  import ExUnit.Assertions
  import ExUnit.CaptureIO

  @file_name ~r/\A# ([\w\/.]+\.exs?)\z/

  @doc "Runs the pieces of a guide in order, in the calling process. Returns how many there were."
  @spec run(Path.t()) :: pos_integer
  def run(guide) do
    pieces = for {_, code, _, nil} = piece <- blocks(guide), not setup?(code), do: piece
    assert pieces != [], "#{guide} has no pieces to run"

    Enum.reduce(pieces, {[], Code.env_for_eval([])}, fn {line, code, expected, nil}, {binding, env} ->
      {{value, binding, env}, written} =
        with_io(fn ->
          quoted = Code.string_to_quoted!(code, file: guide, line: line)
          Code.eval_quoted_with_env(quoted, binding, env)
        end)

      check("#{guide}:#{line}", expected, value, written)
      {binding, env}
    end)

    length(pieces)
  end

  @doc "Returns `{path, text}` of the files that a guide shows, in order."
  @spec files(Path.t()) :: [{Path.t(), String.t()}]
  def files(guide) do
    for {_, code, _, path} when is_binary(path) <- blocks(guide) do
      [_name, text] = String.split(code, "\n", parts: 2)
      {path, text <> "\n"}
    end
  end

  @doc "Returns what the setup cell of a notebook asks for. It is the first of its cells."
  @spec dependencies(Path.t()) :: [{atom, String.t()}]
  def dependencies(notebook) do
    [{_, code, _, _} | _] = blocks(notebook)
    assert setup?(code), "#{notebook} does not begin with a setup cell"
    {{:., _, _}, _, [dependencies]} = Code.string_to_quoted!(code)
    dependencies
  end

  defp setup?(code), do: String.starts_with?(code, "Mix.install(")

  # Line, code, what is written behind #=>, and the file's name, if it has one.
  defp blocks(guide) do
    lines = guide |> File.read!() |> String.split("\n") |> Enum.with_index(1)

    {blocks, nil} =
      Enum.reduce(lines, {[], nil}, fn
        {"```elixir", n}, {blocks, nil} -> {blocks, {n + 1, []}}
        {"```", _}, {blocks, {n, code}} -> {[block(n, Enum.reverse(code)) | blocks], nil}
        {line, _}, {blocks, {n, code}} -> {blocks, {n, [line | code]}}
        _, acc -> acc
      end)

    Enum.reverse(blocks)
  end

  defp block(n, lines) do
    {expected, code} = Enum.split_with(lines, &String.starts_with?(&1, "#=>"))
    path = with [_, path] <- Regex.run(@file_name, hd(lines)), do: path
    {n, Enum.join(code, "\n"), Enum.map_join(expected, "\n", &Regex.replace(~r/^#=> ?/, &1, "")), path}
  end

  defp check(_place, "", _value, _written), do: :ok

  defp check(place, expected, value, written) do
    given = if written == "", do: inspect(value), else: String.trim_trailing(written)
    pattern = expected |> Regex.escape() |> String.replace("…", ".*")
    assert given =~ ~r/\A#{pattern}\z/s, "#{place} says #{expected}, but it gives #{given}"
  end
end
