defmodule Mote.Bench.MixProject do
  use Mix.Project

  # A project of its own, so that nobody who depends on Mote compiles it. What is built, and with which settings, it
  # shares with the project above, so that nothing is compiled twice.
  def project do
    [
      app: :mote_bench,
      version: "0.1.0",
      elixir: "~> 1.14",
      elixirc_paths: elixirc_paths(Mix.env()),
      start_permanent: Mix.env() == :prod,
      build_path: "../_build",
      config_path: "../config/config.exs",
      deps_path: "../deps",
      lockfile: "../mix.lock",
      deps: deps()
    ]
  end

  def application, do: [extra_applications: [:logger]]

  # Programs of examples are there where Mote's own examples are.
  defp elixirc_paths(env) when env in [:dev, :test], do: ["lib", "examples"]
  defp elixirc_paths(_env), do: ["lib"]

  # Benchee comes with Mote, which has it for whoever works here.
  defp deps, do: [{:mote, path: "..", env: Mix.env()}]
end
