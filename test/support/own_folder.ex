defmodule Mote.OwnFolder do
  @moduledoc """
  A folder that no other test has, and no other run of the tests. What is in it goes with the test.
  """

  import ExUnit.Callbacks, only: [on_exit: 1]

  @doc "For `setup :own_folder`: the folder as `dir`, and one for a copy as `to`, neither made yet."
  @spec own_folder(map) :: %{dir: Path.t(), to: Path.t()}
  def own_folder(_context) do
    dir = Path.join(System.tmp_dir!(), "mote_#{System.unique_integer([:positive])}_#{System.pid()}")
    on_exit(fn -> for dir <- [dir, dir <> "_copy"], do: File.rm_rf!(dir) end)
    %{dir: dir, to: dir <> "_copy"}
  end

  @doc "For `setup :hear_exits`: the test hears of machines that end, and does not end with them."
  @spec hear_exits(map) :: :ok
  def hear_exits(_context) do
    Process.flag(:trap_exit, true)
    :ok
  end

  @doc "Returns the paths of the files in it whose names end so, in order."
  @spec files(Path.t(), String.t()) :: [Path.t()]
  def files(dir, extension), do: dir |> Path.join("*" <> extension) |> Path.wildcard() |> Enum.sort()
end
