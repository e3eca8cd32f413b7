defmodule Mote.Behaviour.InferenceTest do
  # What Elixir's inference of types does with the code that a behaviour becomes. Later releases infer in processes of their
  # own: so the reductions of the whole node are counted, while no other test runs.
  use ExUnit.Case, async: false

  import Mote.Compile, only: [module: 3, purge: 1]

  @literals [
              "elem(x, N)",
              "put_elem(x, N, 1)",
              "Enum.map(x, &elem(&1, N))",
              "(case x do y when elem(y, N) == 1 -> 1; _ -> 2 end)"
              # Elixir knows each element of these since 1.18, and Erlang's compiler those of the last one since OTP 26, in any module.
              | if(Version.match?(System.version(), "< 1.18.0"),
                  do: ["Tuple.insert_at(x, N, 1)", "Tuple.delete_at(x, N)"],
                  else: []
                )
            ] ++ if(System.otp_release() < "26", do: ["Tuple.duplicate(x, N)"], else: [])

  defp reductions(code, errors, n) do
    {before, _} = :erlang.statistics(:exact_reductions)
    "defpure f(x), do: #{code}" |> String.replace("N", "#{n}") |> module("", errors) |> purge()
    {later, _} = :erlang.statistics(:exact_reductions)
    later - before
  end

  # Since Elixir 1.20 it knows the elements of every tuple, in any module.
  @tag skip: Version.match?(System.version(), ">= 1.20.0") && "Elixir's own work grows"
  test "the work does not grow with a literal integer" do
    for code <- @literals, errors <- [:abort, :undefined] do
      # What some of them load is not counted.
      least = fn literal -> Enum.min(for _ <- 1..3, do: reductions(code, errors, literal)) end
      {small, large} = {least.(10), least.(1_000_000)}
      assert large <= 2 * small, "#{code}: with 10 it takes #{small} reductions, with 1,000,000 #{large}"
    end
  end
end
